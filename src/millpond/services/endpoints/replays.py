"""Replays: logged requests of an endpoint asked again of a version, by a job that loads it and compares its answers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from sqlalchemy import Connection

from millpond.db import datasets, endpoint_analyses
from millpond.errors import Conflict
from millpond.model.dataset import Commit
from millpond.model.endpoint import Endpoint, replay_experiment
from millpond.model.endpoint_analysis import Analysis, AnalysisKind, AnalysisState
from millpond.model.endpoint_spec import Packages
from millpond.model.job_spec import JobInput, JobSpec
from millpond.model.model import ModelVersionView
from millpond.model.names import model_dataset
from millpond.model.people import Actor, Project, Role
from millpond.model.quantity import DAY
from millpond.services.commits import refs
from millpond.services.deps import Deps
from millpond.services.endpoints import analyses, checking, code
from millpond.services.endpoints.endpoints import find
from millpond.services.models import versions
from millpond.services.people import access
from millpond.services.places import sites
from millpond.services.serving.program import PACKAGE

MOST_REQUESTS = 20_000
_MODEL_ENV = "MILL_INPUT_MODEL"
# A replay that failed may be tried again, so often.
_MOST_TRIES = 100


@dataclass(frozen=True, slots=True)
class ReplayAsked:
    """`model` is NAME@VERSION; `version` chooses requests that this one answered; `on` is a template or queue."""

    model: str
    since_seconds: int = DAY
    version: int | None = None
    limit: int = 1000
    on: str | None = None
    site: str | None = None


def start(deps: Deps, actor: Actor, project: Project, written: str, asked: ReplayAsked) -> Analysis:
    """Start it. The same replay of the same log is not done twice: the one that runs or is done is the answer."""
    access.require(actor, project, Role.MEMBER)
    with deps.db.read() as tx:
        endpoint = find(tx, project, written)
        asked = replace(asked, model=checking.numbered(tx, project, asked.model))
        log = _log(tx, endpoint)
        site_id = sites.find(tx, asked.site).id if asked.site else None
        known, key = _known(tx, endpoint, _digest(asked, log))
    if known is not None:
        return known
    planned = Analysis(
        id="", endpoint_id=endpoint.id, kind=AnalysisKind.REPLAY, key=key, until=log.time,
        since=log.time - timedelta(seconds=asked.since_seconds), created_by=actor.name, created_at=deps.clock.now(),
        asked={"model": asked.model, "version": asked.version, "limit": asked.limit},
    )  # fmt: skip
    name, _, number = asked.model.rpartition("@")
    view = versions.get(deps, project, name, number)
    spec = replace(_spec(deps, project, endpoint, view, planned, log), on=asked.on, site_id=site_id)
    try:
        return analyses.start(deps, actor, project, endpoint, planned, spec)
    except analyses.Taken:  # somebody has asked for the same at this moment
        with deps.db.read() as tx:
            found = endpoint_analyses.find(tx, endpoint.id, AnalysisKind.REPLAY, key)
        if found is None:
            raise Conflict(f"Endpoint {endpoint.name!r} is being deleted.") from None
        return found


def _log(tx: Connection, endpoint: Endpoint) -> Commit:
    """The newest commit of its log. Conflict without one."""
    if endpoint.spec.log.to is None:
        raise Conflict(
            f"The request log of endpoint {endpoint.name} is not committed.",
            hint="Say where to in its endpoint.yaml: log: {level: full, to: DATASET@main}",
        )
    log = analyses.log_input(endpoint)
    dataset = datasets.find(tx, endpoint.project_id, log.dataset.rpartition("/")[2])
    head = refs.head_commit(tx, dataset, log.ref) if dataset else None
    if head is None:
        raise Conflict(
            f"No requests of endpoint {endpoint.name} are committed yet.",
            hint=f"They are committed every {endpoint.spec.log.every_seconds} seconds, once there are some.",
        )
    return head


def _digest(asked: ReplayAsked, log: Commit) -> str:
    """Of all that its result depends on; where it runs does not matter."""
    told = {**asdict(asked), "on": None, "site": None, "log": log.id}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]


def _known(tx: Connection, endpoint: Endpoint, digest: str) -> tuple[Analysis | None, str]:
    """The one that runs or is done; else the key of the next try."""
    key = digest
    for number in range(_MOST_TRIES):
        key = f"{digest}-{number}"
        found = endpoint_analyses.find(tx, endpoint.id, AnalysisKind.REPLAY, key)
        if found is None or found.state is not AnalysisState.FAILED:
            return found, key
    return None, key


def _spec(
    deps: Deps, project: Project, endpoint: Endpoint, view: ModelVersionView, planned: Analysis, log: Commit
) -> JobSpec:
    is_built = endpoint.spec.environment is Packages.AUTO
    dataset = f"{project.name}/{model_dataset(view.model)}"
    number = str(view.version.number)
    return JobSpec(
        command=("python3", "-m", f"{PACKAGE}.monitoring.replay_job"),
        inputs=(
            analyses.log_input(endpoint, log.id),
            JobInput(dataset, ref=number, commit_id=view.commit.id, env=_MODEL_ENV),
        ),
        code_commit=code.serving_code(deps, project, endpoint.created_by),
        environment=code.packages_of_replay(deps, project, view, endpoint.created_by) if is_built else None,
        retries=1,
        timeout_seconds=analyses.TIMEOUT_SECONDS,
        experiment=replay_experiment(endpoint.name),
        tags={"endpoint": endpoint.name, "role": "replay", "model": view.written},
        params={
            "endpoint": endpoint.name, "candidate": view.written, "since": planned.since.isoformat(),
            "until": planned.until.isoformat(), "version": planned.asked["version"], "limit": planned.asked["limit"],
        },
    )  # fmt: skip
