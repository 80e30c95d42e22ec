"""What administrators do to computes: keep new work away, empty them, take their credential back, let them go."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from millpond.db import agents, jobs, placements
from millpond.db import computes as rows
from millpond.errors import InUse
from millpond.model.compute import Compute
from millpond.model.job import Job
from millpond.model.people import Actor
from millpond.model.quantity import format_count
from millpond.services.computes import computes
from millpond.services.computes.computes import ComputeView
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.jobs.jobs import stopped
from millpond.services.jobs.placements import leave_alone
from millpond.services.people import audit

_NAMED = 5


def cordon(deps: Deps, actor: Actor, name: str) -> ComputeView:
    """Nothing new is placed there; what runs goes on. Again, it changes nothing."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        _cordon(tx, actor, computes.lock(tx, name), now)
    return _announced(deps, name)


def uncordon(deps: Deps, actor: Actor, name: str) -> ComputeView:
    now = deps.clock.now()
    with deps.db.write() as tx:
        compute = computes.lock(tx, name)
        if compute.cordoned_at is not None:
            rows.change(tx, compute.id, cordoned_at=None, cordoned_by=None)
            audit.record(tx, now=now, actor=actor, action="compute.uncordon", subject=name,
                         before={"cordoned_by": compute.cordoned_by}, after={"cordoned_by": None})  # fmt: skip
    return _announced(deps, name)


def drain(deps: Deps, actor: Actor, name: str, *, stop: bool) -> ComputeView:
    """Cordon it; what runs there is let finish or, with `stop`, stopped as its owner would."""
    now = deps.clock.now()
    changed: list[Job] = []
    with deps.db.write() as tx:
        compute = computes.lock(tx, name)
        _cordon(tx, actor, compute, now)
        if stop:
            changed = _stop_jobs(tx, actor, compute, now)
    job_changes.announce(deps, changed)
    return _announced(deps, name)


def revoke(deps: Deps, actor: Actor, name: str) -> ComputeView:
    """Take the credential back: its agent is refused from now on, and ends. The compute stays listed.

    What runs there goes on until the keeper's promise has run out; then it is placed anew.
    """
    now = deps.clock.now()
    changed: list[Job] = []
    with deps.db.write() as tx:
        compute = computes.lock(tx, name)
        if compute.revoked_at is None:
            agents.revoke_all(tx, compute.id, now)
            audit.record(tx, now=now, actor=actor, action="compute.revoke", subject=name)
            changed = _leave_jobs(tx, actor, compute, now)
    job_changes.announce(deps, changed)
    return _announced(deps, name)


def detach(deps: Deps, actor: Actor, name: str, *, force: bool) -> None:
    """Take the credential back and forget the compute. InUse, naming the jobs, while some are there, unless `force`.

    Forced, those jobs are placed anew once the keeper's promise has certainly run out.
    """
    now = deps.clock.now()
    with deps.db.write() as tx:
        compute = computes.lock(tx, name)
        living = placements.living_of_compute(tx, compute.id)
        if living and not force:
            raise _in_use(tx, name, [placement.job_id for placement in living])
        rows.detach(tx, compute.id, now)
        audit.record(
            tx, now=now, actor=actor, action="compute.detach", subject=name, details={"jobs_left": len(living)}
        )
        changed = _leave_jobs(tx, actor, compute, now) if compute.revoked_at is None else []
    job_changes.announce(deps, changed)
    _tell(deps, compute.id)


def _cordon(tx: Connection, actor: Actor, compute: Compute, now: datetime) -> None:
    if compute.cordoned_at is None:
        rows.change(tx, compute.id, cordoned_at=now, cordoned_by=actor.name[:63])
        audit.record(tx, now=now, actor=actor, action="compute.cordon", subject=compute.name,
                     before={"cordoned_by": None}, after={"cordoned_by": actor.name})  # fmt: skip


def _stop_jobs(tx: Connection, actor: Actor, compute: Compute, now: datetime) -> list[Job]:
    changed: list[Job] = []
    for job_id in sorted({placement.job_id for placement in placements.living_of_compute(tx, compute.id)}):
        job = jobs.lock(tx, job_id)
        if job is None:
            continue
        after = stopped(job, actor, now)
        if job_changes.save(tx, job, after, now):
            changed.append(after)
            audit.record(
                tx, now=now, actor=actor, action="job.stop", subject=f"{job.project}/{job.name}",
                project_id=job.project_id, details={"job": job.id, "drained": compute.name},
            )  # fmt: skip
    return changed


def _leave_jobs(tx: Connection, actor: Actor, compute: Compute, now: datetime) -> list[Job]:
    """Tell the jobs there what it means for them that the credential is gone."""

    def why(within: str) -> str:
        return (
            f"The credential of {compute.name} was revoked by {actor.name}, so the job's state is "
            f"unknown. It ends within {within} and is then placed again."
        )

    return leave_alone(tx, placements.living_of_compute(tx, compute.id), why, now)


def _in_use(tx: Connection, name: str, job_ids: list[str]) -> InUse:
    found = list(jobs.by_ids(tx, job_ids).values())
    shown = [f"{job.project}/{job.name}" for job in found[:_NAMED]]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return InUse(
        f"Compute {name!r} runs {format_count(len(found), 'job')}: {', '.join(shown)}{more}.",
        hint=f"Let them finish first: mill compute drain {name}   (--force: they are placed again once "
        "their lease expires)",
        depends=shown,
    )


def _announced(deps: Deps, name: str) -> ComputeView:
    view = computes.get(deps, name)
    _tell(deps, view.compute.id)
    return view


def _tell(deps: Deps, compute_id: str) -> None:
    deps.events.publish("computes", project_id=None, data={"id": compute_id, "what": "changed"})
    deps.events.wake("schedule")
    deps.events.wake("agents")
