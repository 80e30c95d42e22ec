"""Workspaces in the exchange with agents: what is wanted of them and what they see, as shapes of the protocol."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from millpond.decide.workspaces.life import Told, ToldSnapshot
from millpond.model.agent import Agent
from millpond.model.workspace import Consistency, How, WorkspaceState
from millpond.services.deps import Deps
from millpond.services.workspaces.desired import WantedSource, WantedWorkspace, wanted_workspaces
from millpond.services.workspaces.reports import WorkspaceReport, observe_workspaces
from millpond.wire.workspaces import (
    DesiredRestore,
    DesiredSnapshot,
    DesiredSource,
    DesiredWorkspace,
    SnapshotSeen,
    WorkspaceSeen,
)


def observe(deps: Deps, agent: Agent, seen: Sequence[WorkspaceSeen]) -> None:
    observe_workspaces(deps, agent, [_report(one) for one in seen])


def desired(tx: Connection, deps: Deps, agent: Agent) -> list[DesiredWorkspace]:
    return [_desired(one) for one in wanted_workspaces(tx, deps, agent)]


def _desired(wanted: WantedWorkspace) -> DesiredWorkspace:
    one = wanted.workspace
    return DesiredWorkspace(
        id=one.id,
        name=one.name,
        project=one.project,
        project_id=one.project_id,
        account=wanted.account,
        volume_id=one.volume_id,
        token=wanted.token,
        attempt=one.attempt,
        want="absent" if one.state is WorkspaceState.REMOVING else "present",
        how=one.how.value,
        source=_source(wanted.source),
        size_bytes=one.size_bytes,
        storage_class=one.storage_class,
        many_nodes=one.many_nodes,
        reserve_bytes=wanted.reserve_bytes,
        read_only=one.read_only,
        in_use=wanted.is_used,
        measure=one.measure,
        snapshots=[
            DesiredSnapshot(
                number=found.snapshot.number, name=found.snapshot.name, attempt=found.snapshot.attempt,
                want=found.want, parent=found.parent,
            )
            for found in wanted.snapshots
        ],
        restore=DesiredRestore(attempt=wanted.restore.attempt, source=_source(wanted.restore.source))
        if wanted.restore
        else None,
    )  # fmt: skip


def _source(wanted: WantedSource) -> DesiredSource:
    one = wanted.source
    return DesiredSource(
        kind=one.kind.value,
        project=one.project,
        project_id=one.project_id,
        dataset=one.dataset,
        dataset_id=one.dataset_id,
        commit_id=one.commit_id,
        tree=one.tree,
        files=one.files,
        bytes=one.bytes,
        cached=wanted.cached,
        workspace_id=one.workspace_id,
        number=one.number,
    )


def _report(seen: WorkspaceSeen) -> WorkspaceReport:
    told = Told(
        attempt=seen.attempt,
        state=seen.state,
        how=How(seen.how) if seen.how else None,
        reason=seen.reason,
        consistency=Consistency(seen.consistency) if seen.consistency else None,
        done_files=seen.done_files,
        done_bytes=seen.done_bytes,
        seconds=seen.seconds,
        files=seen.files,
        unique_bytes=seen.unique_bytes,
        shared_bytes=seen.shared_bytes,
        measured_at=seen.measured_at,
        quota=seen.quota,
        restored=seen.restored,
        restore_problem=seen.restore_problem,
        problem=seen.problem,
        is_transient=seen.transient,
    )
    return WorkspaceReport(seen.id, told, {one.number: _snapshot(one) for one in seen.snapshots})


def _snapshot(seen: SnapshotSeen) -> ToldSnapshot:
    return ToldSnapshot(
        attempt=seen.attempt,
        state=seen.state,
        consistency=Consistency(seen.consistency) if seen.consistency else None,
        at=seen.at,
        files=seen.files,
        bytes=seen.bytes,
        unique_bytes=seen.unique_bytes,
        done_bytes=seen.done_bytes,
        commit=seen.commit,
        is_near=seen.near,
        problem=seen.problem,
        is_transient=seen.transient,
    )
