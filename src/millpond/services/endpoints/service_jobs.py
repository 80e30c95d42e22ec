"""The jobs of replicas and routers: what they run, with which files, where."""

from __future__ import annotations

import hashlib
import json

from millpond.decide.endpoints.replicas import ReplicaKind
from millpond.model.endpoint import Endpoint
from millpond.model.endpoint_spec import EndpointSite, EndpointSpec, Offline, Packages
from millpond.model.ids import new_id
from millpond.model.job_spec import REPLICA, ROUTER, JobInput, JobKind, JobService, JobSpec
from millpond.model.names import model_dataset
from millpond.model.people import Project
from millpond.model.replica import Router
from millpond.model.volume import Site
from millpond.services.deps import Deps
from millpond.services.endpoints import code
from millpond.services.models import versions
from millpond.services.serving.program import PACKAGE

EXPERIMENT = "endpoints"
# The tag of a router's job that says where it listens.
LISTENS = "listens"
# Beyond the time that a replica goes on answering after SIGTERM, and that a router waits for answers.
_GRACE_SECONDS = 60
_LONGEST_NAME = 63
_MODEL_ENV = "MILL_INPUT_MODEL"
_REPLICA = (
    f'exec python3 -m {PACKAGE} --model "$MILL_SERVICE_MODEL=${_MODEL_ENV}" $MILL_SERVICE_LISTEN '
    '--token-file "$MILL_SERVICE/token" --ready-file "$MILL_SERVICE/ready.json"'
)
_ROUTER = (
    f'exec python3 -m {PACKAGE}.router --config "$MILL_SERVICE/router.json" --state-dir "$MILL_SERVICE" '
    '--host "$MILL_SERVICE_HOST" $MILL_SERVICE_TLS --http-port {http} --grpc-port {grpc} --metrics-port {metrics}'
)


def kind_for(spec: EndpointSpec, site: EndpointSite, model: str, number: int, *, remote: bool = False) -> ReplicaKind:
    """What a replica of this version at this site has to be; a change of anything in it needs a new one. `remote`: it
    must be reached from other machines."""
    shaped = json.dumps([site.template, site.offline.value, spec.environment.value, *(["remote"] if remote else [])])
    return ReplicaKind(model, number, hashlib.sha256(shaped.encode()).hexdigest()[:16])


def replica_job(
    deps: Deps, project: Project, endpoint: Endpoint, site: Site, asked: EndpointSite, kind: ReplicaKind,
    *, remote: bool = False,
) -> tuple[str, JobSpec]:  # fmt: skip
    """Name and specification. NotFound if the version is gone."""
    version = versions.get(deps, project, kind.model, str(kind.version))
    author = endpoint.created_by
    is_built = endpoint.spec.environment is Packages.AUTO
    dataset, served = model_dataset(kind.model), f"{kind.model}@{kind.version}"
    spec = JobSpec(
        kind=JobKind.SERVICE,
        command=("sh", "-c", _REPLICA),
        inputs=(
            JobInput(f"{project.name}/{dataset}", ref=str(kind.version), commit_id=version.commit.id, env=_MODEL_ENV),
        ),
        code_commit=code.serving_code(deps, project, author),
        environment=code.packages_of_model(deps, project, version, author) if is_built else None,
        on=asked.template,
        site_id=site.id,
        grace_seconds=_GRACE_SECONDS,
        experiment=EXPERIMENT,
        tags={"endpoint": endpoint.name, "model": served, "role": REPLICA},
        service=JobService(REPLICA, endpoint.name, served, offline=asked.offline is Offline.SERVE, remote=remote),
    )
    return _named(endpoint.name), spec


def router_job(
    deps: Deps, project: Project, router: Router, site: Site, *, offline: bool, builds: bool, author: str
) -> tuple[str, JobSpec]:
    ports = router.ports
    command = _ROUTER.format(http=ports.http, grpc=ports.grpc, metrics=ports.metrics)
    spec = JobSpec(
        kind=JobKind.SERVICE,
        command=("sh", "-c", command),
        code_commit=code.serving_code(deps, project, author),
        environment=code.packages_of_router(deps, project, author) if builds else None,
        site_id=router.site_id,
        grace_seconds=_GRACE_SECONDS,
        experiment=EXPERIMENT,
        tags={"role": ROUTER, "site": router.site, LISTENS: listening(site)},
        service=JobService(ROUTER, offline=offline),
    )
    return _named(f"router-{router.site}"), spec


def listening(site: Site) -> str:
    """Where routers of the site listen and with which certificate: a change needs a new one."""
    serving = site.serving
    return f"{serving.host} {serving.tls_cert or ''}".strip() if serving else "127.0.0.1"


def _named(base: str) -> str:
    end = new_id()[:6]
    return f"{base[: _LONGEST_NAME - len(end) - 1]}-{end}"
