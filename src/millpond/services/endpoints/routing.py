"""Routers: one job for each project, site and set of ports, which is told who serves what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from logging import getLogger
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import endpoint_tokens, endpoints, jobs, placements, replicas, sites
from millpond.decide.endpoints.changes import sites_of
from millpond.decide.endpoints.config import EndpointAtSite, TokenRules, has_taken, router_config
from millpond.decide.endpoints.failing import described, ending_of
from millpond.decide.endpoints.replicas import ReplicaKind
from millpond.decide.endpoints.weights import Version
from millpond.errors import MillError
from millpond.model.endpoint import Endpoint
from millpond.model.endpoint_spec import EndpointPorts, EndpointSite, Offline, Packages
from millpond.model.ids import new_id
from millpond.model.job import Job, JobState
from millpond.model.people import Project
from millpond.model.replica import FailedStarts, Replica, Router
from millpond.model.run import Run
from millpond.model.volume import Site
from millpond.services.deps import Deps
from millpond.services.endpoints import acting, failures, service_jobs, tokens
from millpond.services.endpoints.machines import remote_sites
from millpond.services.endpoints.wanted import wanted_kinds
from millpond.services.jobs import service_life, submit

logger = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RoutersStanding:
    """How many of an endpoint's routers take no requests yet, and why not, where something went wrong."""

    waiting: int
    problems: tuple[str, ...] = ()
    # What the routers counted, by the names of sites.
    stats: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    # Those that failed and are tried again.
    failing: tuple[Router, ...] = ()
    # How many go by an older configuration than the endpoint asks for.
    behind: int = 0


_Place = tuple[str, EndpointPorts]


class _Stale(Exception):
    """Another server gave the router a job first."""


def advance(deps: Deps, project: Project, now: datetime) -> None:
    """Routers where endpoints are, each with a job and the newest configuration; those that nobody needs go."""
    with deps.db.read() as tx:
        living = [one for one in endpoints.all_of(tx, project.id) if one.deleted_at is None]
        places = sites.all_of(tx)
        known = {(one.site_id, one.ports): one for one in replicas.routers(tx, project.id)}
        here = replicas.living(tx, [one.id for one in living])
        told = jobs.by_ids(tx, {one.job_id for one in known.values() if one.job_id})
        agents = _agents(tx, told.values())
        remote = remote_sites(tx)
        reports = replicas.reports(tx, {job.status.placement_id or "" for job in told.values()})
        rules = TokenRules(endpoint_tokens.public_keys(tx), endpoint_tokens.revoked(tx, project.id, now))
    if living and not rules.keys:
        tokens.signing_key(deps)  # before the first token: a router knows the key when it is shown one
    needed: dict[_Place, list[tuple[Endpoint, Site, EndpointSite]]] = {}
    for endpoint in living:
        for site, asked in sites_of(endpoint.spec, places):
            needed.setdefault((site.id, endpoint.spec.ports), []).append((endpoint, site, asked))
    for place, served in sorted(needed.items(), key=lambda one: (one[0][0], one[0][1].http)):
        router = known.get(place) or _make(deps, project, served[0][1], place[1])
        if router is None:
            continue
        job = told.get(router.job_id or "")
        routed = _routed(served, here, remote)
        _configure(deps, router, router_config(project.name, router, routed, rules, agents.get(router.job_id or "")))
        if job is None or job.status.state.is_finished:
            _start(deps, project, router, served)
            continue
        _note_failures(deps, router, job, reports)
        if job.spec.tags.get(service_jobs.LISTENS) != service_jobs.listening(served[0][1]):
            service_life.stop(deps, project, [job.id], "Its site has another address for routers now.")
    for place, router in known.items():
        if place not in needed:
            _remove(deps, project, router)


def standing(tx: Connection, endpoint: Endpoint, site_ids: Collection[str]) -> RoutersStanding:
    """How the routers of an endpoint's sites stand, for people."""
    mine = {
        one.site_id: one
        for one in replicas.routers(tx, endpoint.project_id)
        if one.ports == endpoint.spec.ports and one.site_id in site_ids
    }
    known = jobs.by_ids(tx, {one.job_id for one in mine.values() if one.job_id})
    told = replicas.reports(tx, {job.status.placement_id or "" for job in known.values()})
    waiting, problems, failing, behind = len(site_ids) - len(mine), [], [], 0
    stats: dict[str, Mapping[str, Any] | None] = {}
    for router in mine.values():
        job = known.get(router.job_id or "")
        report = told.get(job.status.placement_id or "") if job else None
        counts = _counts(job, report)
        if counts is not None:
            stats[router.site] = counts
            behind += not has_taken(router, counts, endpoint)
            continue
        waiting += 1
        failed = described(ending_of(job), router.failures.cause) if job else None
        problems += [router.problem] if router.problem else []
        if failed:
            failing.append(router)
            problems.append(f"Router at {router.site}: {failed}")
    return RoutersStanding(waiting, tuple(problems), stats, tuple(failing), behind)


def _make(deps: Deps, project: Project, site: Site, ports: EndpointPorts) -> Router | None:
    router = Router(id=new_id(), project_id=project.id, site_id=site.id, site=site.name, ports=ports)
    try:
        with deps.db.write() as tx:
            replicas.insert_router(tx, router)
    except IntegrityError:
        return None  # another server was faster
    return router


def _agents(tx: Connection, known: Iterable[Job]) -> dict[str, str]:
    """Where routers are, by the ids of their jobs."""
    placed = {job.id: placements.get(tx, job.status.placement_id or "") for job in known}
    return {job_id: one.agent_id for job_id, one in placed.items() if one is not None}


def _routed(
    served: Sequence[tuple[Endpoint, Site, EndpointSite]], here: Sequence[Replica], remote: Collection[str]
) -> list[EndpointAtSite]:
    return [
        EndpointAtSite(
            endpoint,
            asked,
            [one for one in here if one.endpoint_id == endpoint.id and one.site_id == site.id],
            _versions(wanted_kinds(endpoint, [(site, asked)], remote)[site.name]),
        )
        for endpoint, site, asked in served
    ]


def _configure(deps: Deps, router: Router, config: dict[str, Any]) -> None:
    if config == router.config:
        return
    with deps.db.write() as tx:
        current = replicas.lock_router(tx, router.id)
        if current is None or current.config_number != router.config_number:
            return  # another server's is as new as this one, or newer
        replicas.save_router(tx, replace(current, config=config, config_number=current.config_number + 1))
    deps.events.wake("agents")


def _versions(kinds: Mapping[ReplicaKind, int]) -> dict[Version, int]:
    found: dict[Version, int] = {}
    for kind, count in kinds.items():
        found[kind.model, kind.version] = found.get((kind.model, kind.version), 0) + count
    return found


def _start(deps: Deps, project: Project, router: Router, served: Sequence[tuple[Endpoint, Site, EndpointSite]]) -> None:
    def take(tx: Connection, job: Job, run: Run) -> None:
        current = replicas.lock_router(tx, router.id)
        if current is None or current.job_id != router.job_id:
            raise _Stale
        replicas.save_router(tx, replace(current, job_id=job.id, problem=None, failures=FailedStarts()))

    endpoint = served[0][0]
    offline = any(asked.offline is Offline.SERVE for _, _, asked in served)
    builds = all(one.spec.environment is Packages.AUTO for one, _, _ in served)
    try:
        actor = acting.actor_of(deps, endpoint, project)
        name, spec = service_jobs.router_job(
            deps, project, router, served[0][1], offline=offline, builds=builds, author=endpoint.created_by
        )
        submit.enqueue(deps, actor, project, spec, name=name, also=take)
    except _Stale:
        return
    except MillError as error:
        _note_problem(
            deps, router, f"Cannot start the router at {router.site}: {error.message} {error.hint or ''}".rstrip()
        )


def _note_problem(deps: Deps, router: Router, problem: str) -> None:
    if router.problem == problem:
        return
    logger.warning("router_refused router=%s reason=%s", router.id, problem)
    with deps.db.write() as tx:
        current = replicas.lock_router(tx, router.id)
        if current is not None:
            replicas.save_router(tx, replace(current, problem=problem))


def _note_failures(deps: Deps, router: Router, job: Job, reports: Mapping[str, replicas.ServiceReport]) -> None:
    serves = _counts(job, reports.get(job.status.placement_id or "")) is not None
    after = failures.of_router(deps, router.failures, job, serves=serves)
    if after == router.failures:
        return
    with deps.db.write() as tx:
        current = replicas.lock_router(tx, router.id)
        if current is not None and current.job_id == job.id:
            replicas.save_router(tx, replace(current, failures=after))


def _counts(job: Job | None, report: replicas.ServiceReport | None) -> Mapping[str, Any] | None:
    """What it has counted; None if it takes no requests: a router counts from then on."""
    is_running = job is not None and job.status.state is JobState.RUNNING
    return report.stats if is_running and report is not None else None


def _remove(deps: Deps, project: Project, router: Router) -> None:
    if router.job_id is not None:
        service_life.stop(deps, project, [router.job_id], "No endpoint uses this router now.")
    with deps.db.write() as tx:
        replicas.delete_router(tx, router.id)
