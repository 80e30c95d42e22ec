"""Snapshots of workspaces that belong to the run of a job: at its start, every so often, at its end; and back again.

No rule removes them. The command of a job begins once those of its start are on the volume.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import jobs, workspace_snapshots, workspaces
from millpond.decide.workspaces.run_moments import START, RunTimes, due_snapshot, has_moment, moment_of
from millpond.errors import BadRequest, MillError, NotFound, NotReady
from millpond.model.job import Job
from millpond.model.people import SYSTEM, Actor, Project
from millpond.model.workspace import SnapshotState, Workspace, WorkspaceSnapshot
from millpond.services.deps import Deps
from millpond.services.runs import runs
from millpond.services.workspaces import access, restoring, snapshots

logger = getLogger(__name__)
# For how long after its end the last snapshot of a run is tried.
_LATE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """`moment` is start, run or end; "" for one that somebody took by hand for the run."""

    workspace: Workspace
    snapshot: WorkspaceSnapshot
    moment: str


@dataclass(frozen=True, slots=True)
class StartHold:
    """Why a placed job does not begin yet; `problem`: why it never will; `lines`: what its log begins with."""

    waits: str | None = None
    problem: str | None = None
    lines: tuple[str, ...] = ()


def take_due(deps: Deps, now: datetime) -> None:
    """Have the snapshots taken that runs are due now."""
    with deps.db.read() as tx:
        wanted = _due(tx, now)
    for job, workspace, name in wanted:
        try:
            snapshots.take_for_run(
                deps, workspace.id, name=name, run_id=job.run_id, by=replace(SYSTEM, name=job.created_by)
            )
        except MillError as error:
            # While it is restored, for one; tried again as long as the moment lasts.
            logger.info("run_snapshot_waits job=%s workspace=%s %s", job.id, workspace.id, error.message)
        else:
            logger.info("run_snapshot job=%s workspace=%s name=%s", job.id, workspace.id, name)


def start_holds(tx: Connection, placed: Collection[Job]) -> Mapping[str, StartHold]:
    """By id, of those jobs that take a snapshot at their start."""
    wanting = [job for job in placed if job.spec.snapshots is not None and job.spec.snapshots.start]
    used = workspaces.of_waiting_jobs(tx, [job.id for job in wanting])
    known = workspaces.by_ids(tx, {one for ids in used.values() for one in ids})
    return {
        job.id: _hold(job, [known[one] for one in used.get(job.id, ()) if one in known], _of_run(tx, job))
        for job in wanting
    }


def of_run(deps: Deps, actor: Actor, project: Project, written: str) -> Sequence[RunSnapshot]:
    """Oldest first, of workspaces that the actor sees."""
    with deps.db.read() as tx:
        run = runs.find(tx, actor, project, written)
        found = workspace_snapshots.of_run(tx, run.id)
        known = workspaces.by_ids(tx, {one.workspace_id for one in found})
        visible = {key: one for key, one in known.items() if access.sees(tx, actor, one)}
        job = jobs.get(tx, run.job_id) if run.job_id else None
    name = job.name if job else ""
    return [
        RunSnapshot(visible[one.workspace_id], one, moment_of(one.name, visible[one.workspace_id].name, name))
        for one in sorted(found, key=lambda one: (one.created_at, one.number))
        if one.workspace_id in visible and one.state is not SnapshotState.REMOVING
    ]


def restore_run(
    deps: Deps, actor: Actor, project: Project, written: str, into: str, *, workspace: str | None = None,
    size: int | None = None,
) -> Workspace:  # fmt: skip
    """A new workspace as one of the run's was at its start. BadRequest if there are several and none is named."""
    found = [
        one for one in of_run(deps, actor, project, written)
        if one.moment == START and workspace in (None, one.workspace.name)
    ]  # fmt: skip
    if not found:
        of = f" of workspace {workspace!r}" if workspace else ""
        raise NotFound(
            f"Run {written!r} has no snapshot of its start{of}.",
            hint="Submit with --workspace W:/path --snapshot start to take one.",
            noun="snapshot",
            name=written,
        )
    if len(found) > 1:
        names = ", ".join(one.workspace.name for one in found)
        raise BadRequest(f"Run {written!r} has several workspaces: {names}.", hint="Choose one: --workspace NAME")
    chosen = found[0]
    if not chosen.snapshot.is_there:
        raise NotReady(f"Snapshot {chosen.snapshot.name!r} is {chosen.snapshot.state.value}.")
    return restoring.restore_into(
        deps, actor, project, chosen.workspace.name, str(chosen.snapshot.number), into, size=size
    )


def _due(tx: Connection, now: datetime) -> list[tuple[Job, Workspace, str]]:
    used = workspaces.of_waiting_jobs(tx, workspaces.job_ids_since(tx, now - _LATE))
    known = {key: job for key, job in jobs.by_ids(tx, list(used)).items() if job.spec.snapshots is not None}
    places = workspaces.by_ids(tx, {one for key in known for one in used[key]})
    found = []
    for job in known.values():
        taken = [one.name for one in _of_run(tx, job)]
        for workspace in (places[one] for one in used[job.id] if one in places):
            name = _due_name(job, workspace, taken, now)
            if name is not None and workspace.deleted_at is None:
                found.append((job, workspace, name))
    return found


def _due_name(job: Job, workspace: Workspace, taken: Collection[str], now: datetime) -> str | None:
    assert job.spec.snapshots is not None
    status = job.status
    times = RunTimes(
        placed_at=status.placed_at if status.placement_id else None,
        started_at=status.started_at,
        ended_at=status.ended_at,
    )
    return due_snapshot(job.spec.snapshots, workspace.name, job.name, times, taken, now)


def _of_run(tx: Connection, job: Job) -> Sequence[WorkspaceSnapshot]:
    return [one for one in workspace_snapshots.of_run(tx, job.run_id) if one.state is not SnapshotState.REMOVING]


def _hold(job: Job, used: Sequence[Workspace], taken: Sequence[WorkspaceSnapshot]) -> StartHold:
    lines = []
    for workspace in used:
        own = [one for one in taken if one.workspace_id == workspace.id]
        starts = [one for one in own if has_moment([one.name], workspace.name, job.name, START)]
        failed = next((one for one in starts if one.state is SnapshotState.FAILED), None)
        if failed is not None:
            why = (failed.problem or "its agent could not take it").rstrip(".")
            return StartHold(problem=f"the snapshot of workspace {workspace.name} at its start failed: {why}")
        if not any(one.is_there for one in starts):
            return StartHold(waits=f"its workspace {workspace.name} is being snapshotted")
        lines += [f"Snapshot {one.name} of workspace {workspace.name} taken." for one in starts]
    return StartHold(lines=tuple(lines))
