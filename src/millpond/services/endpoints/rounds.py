"""Advances endpoints: observe replicas → scale, roll out → start and drain replicas → tell routers (docs/design/025).

What is decided outside a transaction is written only if the endpoint has the revision it was decided on; a replica's
row comes with its job, in one transaction. So servers may do this at the same time, and die at any moment.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import endpoints, jobs, projects, replicas, sites
from millpond.decide.endpoints.addresses import unreached
from millpond.decide.endpoints.changes import sites_of
from millpond.decide.endpoints.failing import lasting_failure
from millpond.decide.endpoints.replicas import ReplicaKind, plan_replicas
from millpond.decide.endpoints.states import observed, state_of
from millpond.errors import MillError
from millpond.model.endpoint import Endpoint
from millpond.model.endpoint_spec import EndpointSite
from millpond.model.ids import new_id
from millpond.model.job import Job
from millpond.model.people import Project
from millpond.model.replica import Replica, ReplicaState
from millpond.model.run import Run
from millpond.model.volume import Site
from millpond.services.deps import Deps
from millpond.services.endpoints import acting, adjusting, failures, routing, service_jobs, stopping
from millpond.services.endpoints.endpoints import announce
from millpond.services.endpoints.machines import remote_sites
from millpond.services.endpoints.seen_drift import drift_reasons
from millpond.services.endpoints.wanted import Wanted, wanted_kinds
from millpond.services.jobs import submit

logger = getLogger(__name__)

# A replica that is to go is stopped once its router has had time to hear of it.
DRAIN_NOTICE = timedelta(seconds=3)
_KEPT = timedelta(hours=1)


class _Stale(Exception):
    """Somebody else changed the endpoint meanwhile: the next round looks again."""


@dataclass(frozen=True, slots=True)
class _Start:
    site: Site
    asked: EndpointSite
    kind: ReplicaKind


def advance_all(deps: Deps, now: datetime) -> None:
    """One round of every project that has endpoints or routers. One that raises holds no other back."""
    with deps.db.read() as tx:
        waiting = {one.project_id for one in endpoints.all_of(tx)} | {one.project_id for one in replicas.routers(tx)}
    for project_id in sorted(waiting):
        try:
            _advance_project(deps, project_id, now)
        except Exception:  # the edge of a project: the others go on
            logger.exception("endpoints_failed project=%s", project_id)


def _advance_project(deps: Deps, project_id: str, now: datetime) -> None:
    with deps.db.read() as tx:
        project = projects.get(tx, project_id)
        known = endpoints.all_of(tx, project_id)
    if project is None:
        return
    for endpoint in known:
        try:
            advance(deps, project, endpoint, now)
        except _Stale:
            continue
        except Exception:
            logger.exception("endpoint_failed endpoint=%s", endpoint.id)
    routing.advance(deps, project, now)


def advance(deps: Deps, project: Project, endpoint: Endpoint, now: datetime) -> None:
    with deps.db.read() as tx:
        before = replicas.living(tx, [endpoint.id])
        known = jobs.by_ids(tx, {one.job_id for one in before})
        told = replicas.reports(tx, {job.status.placement_id or "" for job in known.values()})
        places = sites_of(endpoint.spec, sites.all_of(tx)) if endpoint.deleted_at is None else []
        routers = routing.standing(tx, endpoint, {site.id for site, _ in places})
        drifted = drift_reasons(tx, endpoint)
        remote = remote_sites(tx)
    seen = [_observed(deps, one, known.get(one.job_id), told, now) for one in before]
    adjusted = _adjusted(deps, project, endpoint, places, seen, routers.stats, now)
    if adjusted is None:
        return  # there is a new revision: the next round is for that
    wanted = wanted_kinds(adjusted, places, remote)
    starts, seen = _planned(wanted, places, seen, now)
    if seen != before or adjusted != endpoint:
        endpoint = _write(deps, adjusted, before, seen, now)
    stopping.stop_drained(deps, project, seen, now - DRAIN_NOTICE)
    endpoint, refused = _start(deps, project, endpoint, starts, remote)
    state, reasons = state_of(
        endpoint, wanted, seen, [*routers.problems, *refused], routers.waiting, routers.behind,
        [said for site, stats in routers.stats.items() for said in unreached(stats or {}, seen, site)],
    )  # fmt: skip
    failure = lasting_failure(wanted, seen, routers.failing)
    _write_state(deps, replace(endpoint, state=state, reasons=(*reasons, *drifted), failure=failure), endpoint)
    if endpoint.deleted_at is not None and all(one.state is ReplicaState.ENDED for one in seen):
        _remove(deps, endpoint)


def _adjusted(
    deps: Deps, project: Project, endpoint: Endpoint, places: Sequence[tuple[Site, EndpointSite]],
    seen: Sequence[Replica], stats: Mapping[str, Mapping[str, object] | None], now: datetime,
) -> Endpoint | None:  # fmt: skip
    """With the replicas and shares that its load asks for; None if its rollout made a new revision."""
    if endpoint.deleted_at is not None:
        return endpoint
    counts = adjusting.counted(stats, endpoint)
    scaled = adjusting.scaled(deps, endpoint, places, seen, counts, now)
    return adjusting.rolled_out(deps, project, scaled, counts, now)


def _observed(
    deps: Deps, replica: Replica, job: Job | None, told: Mapping[str, replicas.ServiceReport], now: datetime
) -> Replica:
    report = told.get(job.status.placement_id or "") if job else None
    found = observed(replica, job, report.ready if report else None, now)
    return failures.with_cause(deps, found, job, replica)


def _planned(
    wanted: Wanted, places: Sequence[tuple[Site, EndpointSite]], seen: Sequence[Replica], now: datetime
) -> tuple[list[_Start], list[Replica]]:
    """What to start, and the replicas with those draining that are to go."""
    starts: list[_Start] = []
    drained: set[str] = set()
    known = {site.name for site, _ in places}
    for site, asked in places:
        plan = plan_replicas(wanted[site.name], [one for one in seen if one.site == site.name])
        starts += [_Start(site, asked, kind) for kind in plan.start]
        drained |= set(plan.drain)
    living = (ReplicaState.STARTING, ReplicaState.READY)
    drained |= {one.id for one in seen if one.site not in known and one.state in living}
    return starts, [
        replace(one, state=ReplicaState.DRAINING, draining_at=now) if one.id in drained else one for one in seen
    ]


def _write(
    deps: Deps, endpoint: Endpoint, before: Sequence[Replica], after: Sequence[Replica], now: datetime
) -> Endpoint:
    """The endpoint as it is stored then, with its replicas."""
    with deps.db.write() as tx:
        _locked(tx, endpoint)
        for old, new in zip(before, after, strict=True):
            if old != new:
                replicas.save(tx, new)
        replicas.forget_ended(tx, endpoint.id, now - _KEPT)
        endpoints.save(tx, endpoint)
    announce(deps, endpoint)
    return replace(endpoint, revision=endpoint.revision + 1)


def _write_state(deps: Deps, after: Endpoint, before: Endpoint) -> None:
    if after == before:
        return
    with deps.db.write() as tx:
        _locked(tx, before)
        endpoints.save(tx, after)
    announce(deps, after)
    if after.state is not before.state:
        logger.info("endpoint_changed endpoint=%s state=%s reason=%s", after.id, after.state.value, after.reasons[0])


def _remove(deps: Deps, endpoint: Endpoint) -> None:
    with deps.db.write() as tx:
        endpoints.delete(tx, endpoint.id)
    announce(deps, endpoint)


def _locked(tx: Connection, endpoint: Endpoint) -> Endpoint:
    """_Stale if somebody else changed it: then nothing is written."""
    current = endpoints.lock(tx, endpoint.id)
    if current is None or current.revision != endpoint.revision:
        raise _Stale
    return current


def _start(
    deps: Deps, project: Project, endpoint: Endpoint, starts: Sequence[_Start], remote: Collection[str]
) -> tuple[Endpoint, list[str]]:  # fmt: skip
    """The endpoint with its revision after that, and why some replicas could not be started."""
    refused: list[str] = []
    for start in starts:
        try:
            endpoint = _submit(deps, project, endpoint, start, remote=start.site.id in remote)
        except MillError as error:
            hint = f" {error.hint}" if error.hint else ""
            refused.append(f"Cannot start a replica at {start.site.name}: {error.message}{hint}")
    return endpoint, list(dict.fromkeys(refused))


def _submit(deps: Deps, project: Project, endpoint: Endpoint, start: _Start, *, remote: bool) -> Endpoint:
    """Start a replica; the endpoint with its next revision, so that no other server starts the same one."""

    def take(tx: Connection, job: Job, run: Run) -> None:
        endpoints.save(tx, _locked(tx, endpoint))
        replicas.insert(
            tx,
            Replica(
                id=new_id(), endpoint_id=endpoint.id, site_id=start.site.id, site=start.site.name,
                model=start.kind.model, version=start.kind.version, shape=start.kind.shape, job_id=job.id,
                created_at=job.queued_at,
            ),
        )  # fmt: skip

    actor = acting.actor_of(deps, endpoint, project)
    name, spec = service_jobs.replica_job(deps, project, endpoint, start.site, start.asked, start.kind, remote=remote)
    submit.enqueue(deps, actor, project, spec, name=name, also=take)
    return replace(endpoint, revision=endpoint.revision + 1)
