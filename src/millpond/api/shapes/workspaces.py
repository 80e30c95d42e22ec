"""Workspaces, their snapshots and schedules as shapes of the API."""

from __future__ import annotations

from millpond.model.workspace import SnapshotSchedule, Workspace, WorkspaceSnapshot, format_keep
from millpond.services.workspaces.planning import Planned
from millpond.services.workspaces.run_snapshots import RunSnapshot
from millpond.services.workspaces.views import WorkspaceView
from millpond.wire import workspace_views as wire


def workspace(view: WorkspaceView) -> wire.Workspace:
    one = view.workspace
    return wire.Workspace(
        id=one.id,
        project=one.project,
        name=one.name,
        owner=one.owner,
        shared=one.shared,
        usable=view.is_usable,
        volume=one.volume,
        site=one.site,
        path="" if one.is_claim else one.path,
        storage_class=one.storage_class,
        many_nodes=one.many_nodes,
        size_bytes=one.size_bytes,
        read_only=one.read_only,
        state=one.state,
        how=one.how,
        reasons=list(one.reasons),
        expected_seconds=one.expected_seconds,
        took_seconds=one.took_seconds,
        source=wire.WorkspaceOrigin.model_validate(one.source),
        created_at=one.created_at,
        changed_at=one.changed_at,
        ready_at=one.ready_at,
        consistency=one.consistency,
        quota=one.quota,
        files=one.files,
        unique_bytes=one.unique_bytes,
        shared_bytes=one.shared_bytes,
        used_bytes=one.used_bytes,
        measured_at=one.measured_at,
        done_files=one.done_files,
        done_bytes=one.done_bytes,
        problem=one.problem,
        snapshots=view.snapshots.count,
        snapshot_bytes=view.snapshots.near_bytes,
        newest_snapshot_at=view.snapshots.newest_at,
        jobs=[wire.WorkspaceJob.model_validate(job) for job in view.jobs],
        restoring=one.restore.source.written if one.restore else None,
        git=one.git_url,
        git_ref=one.git_ref,
        git_job=one.git_job,
        deleted_at=one.deleted_at,
        deleted_by=one.deleted_by,
    )


def plan(planned: Planned) -> wire.WorkspacePlan:
    return wire.WorkspacePlan(
        volume=planned.volume.name,
        site=planned.volume.site,
        size_bytes=planned.size_bytes,
        how=planned.decision.how,
        expected_seconds=planned.decision.seconds,
        reasons=list(planned.reasons),
        evicts=planned.evicts,
    )


def snapshot(of: Workspace | str, one: WorkspaceSnapshot) -> wire.WorkspaceSnapshot:
    """`of`: its workspace, or the name of that."""
    return wire.WorkspaceSnapshot(
        workspace=of if isinstance(of, str) else of.name,
        number=one.number,
        name=one.name,
        series=one.series,
        origin=one.origin,
        state=one.state,
        near=one.is_near,
        commit=one.commit_id,
        created_by=one.created_by,
        created_at=one.created_at,
        taken_at=one.taken_at,
        consistency=one.consistency,
        files=one.files,
        bytes=one.bytes,
        unique_bytes=one.unique_bytes,
        done_bytes=one.done_bytes,
        run=one.run_id,
        keep=format_keep(one.keep),
        problem=one.problem,
    )


def run_snapshot(one: RunSnapshot) -> wire.RunSnapshot:
    shown = snapshot(one.workspace, one.snapshot)
    return wire.RunSnapshot.model_validate({**shown.model_dump(), "moment": one.moment})


def schedule(one: SnapshotSchedule) -> wire.SnapshotSchedule:
    return wire.SnapshotSchedule(
        series=one.series,
        cron=one.cron,
        timezone=one.timezone,
        every_seconds=one.every_seconds,
        keep=format_keep(one.keep),
        created_by=one.created_by,
        created_at=one.created_at,
        next_at=one.next_at,
        last_at=one.last_at,
        problem=one.problem,
    )
