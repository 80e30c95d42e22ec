"""Takes what agents tell of workspaces, and what follows from it: leases, jobs that must stop, copies that may go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import jobs, volumes, workspace_snapshots, workspaces
from millpond.decide import job_life
from millpond.decide.workspaces.life import Told, ToldSnapshot, observe, observe_snapshot, too_large
from millpond.model.agent import Agent
from millpond.model.job import Ending, Job
from millpond.model.workspace import SnapshotState, Workspace, WorkspaceSnapshot, WorkspaceState
from millpond.services.caches.admission.admit import start_fills
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.workspaces import access, creating, schedules

Pairs = Sequence[tuple[WorkspaceSnapshot, WorkspaceSnapshot]]


@dataclass(frozen=True, slots=True)
class WorkspaceReport:
    """What an agent tells of a workspace, and of its snapshots by number."""

    id: str
    told: Told
    snapshots: Mapping[int, ToldSnapshot]


def observe_workspaces(deps: Deps, agent: Agent, seen: Sequence[WorkspaceReport]) -> None:
    """Only of volumes that the agent tends; what is known already costs no transaction."""
    if not seen:
        return
    now = deps.clock.now()
    with deps.db.read() as tx:
        tended = {one.id for one in volumes.all_of(tx, agent.site_id) if one.filler_id == agent.id}
        known = workspaces.by_ids(tx, {one.id for one in seen})
        taken = workspace_snapshots.of_workspaces(tx, list(known))
    for report in seen:
        before = known.get(report.id)
        if before is None or before.volume_id not in tended:
            continue
        if _after(before, taken.get(before.id, ()), report, now) != (before, []):
            _observe(deps, report, now)


def _observe(deps: Deps, report: WorkspaceReport, now: datetime) -> None:
    stopped: list[Job] = []
    with deps.db.write() as tx:
        before = access.lock(tx, report.id)
        if before is None:
            return
        after, changed = _after(before, workspace_snapshots.of_workspace(tx, before.id), report, now)
        if after != before:
            workspaces.save(tx, after)
        for _, snapshot in changed:
            workspace_snapshots.save(tx, snapshot)
        if after.state is not before.state:
            creating.lease_source(tx, after, now)
        if (after.unique_bytes, after.shared_bytes) != (before.unique_bytes, before.shared_bytes):
            stopped = _stop_oversized(tx, after, now)
            schedules.drop_copies(tx, after)
        volume = volumes.get(tx, after.volume_id)
        if volume is not None and (after.state is not before.state or changed):
            start_fills(tx, volume, now)
    job_changes.announce(deps, stopped)
    if after.state is not before.state:
        deps.events.wake("schedule")
    access.announce(deps, after, _what(before, after, changed))


def _after(
    before: Workspace, taken: Sequence[WorkspaceSnapshot], report: WorkspaceReport, now: datetime
) -> tuple[Workspace, Pairs]:
    told = report.snapshots
    pairs = [(one, observe_snapshot(one, told[one.number], before)) for one in taken if one.number in told]
    changed = [pair for pair in pairs if pair[0] != pair[1]]
    after = observe(before, report.told, now)
    return _not_safe(after, {one.number: one for _, one in pairs}, now), changed


def _not_safe(after: Workspace, taken: Mapping[int, WorkspaceSnapshot], now: datetime) -> Workspace:
    """Nothing is replaced where what was there could not be taken."""
    wanted = after.restore
    safety = taken.get(wanted.safety) if wanted else None
    if safety is None or safety.state is not SnapshotState.FAILED:
        return after
    problem = f"Not restored: the snapshot before it failed. {safety.problem}"
    return replace(after, state=WorkspaceState.READY, restore=None, problem=problem, changed_at=now)


def _stop_oversized(tx: Connection, workspace: Workspace, now: datetime) -> list[Job]:
    """Where nothing but measuring keeps a workspace to its size, the jobs that write to it are stopped."""
    problem = too_large(workspace)
    if problem is None:
        return []
    stopped: list[Job] = []
    for job_id, _, read_only in workspaces.living_jobs(tx, [workspace.id], placed=True).get(workspace.id, ()):
        job = None if read_only else jobs.lock(tx, job_id)
        if job is not None and job.status.stop_requested_at is None and not job.status.state.is_finished:
            after = job_life.request_stop(job, f"Stopped: {problem}", now, Ending.PROBLEM)
            stopped += [after] if job_changes.save(tx, job, after, now) else []
    return stopped


def _what(before: Workspace, after: Workspace, changed: Pairs) -> str:
    if after.state is not before.state:
        return "changed"
    return "snapshot" if changed else "progress"
