"""What differs between snapshots of a workspace, and what is in one: read from the commits that keep them."""

from __future__ import annotations

from sqlalchemy import Connection

from millpond.db import commits, datasets, workspace_snapshots, workspaces
from millpond.errors import NotReady
from millpond.model.dataset import Commit, Dataset
from millpond.model.names import WORKSPACE_DATASET
from millpond.model.people import Actor, ActorKind, Project
from millpond.model.workspace import Workspace, WorkspaceSnapshot
from millpond.services.caches.fills import desired as fills
from millpond.services.commits import refs
from millpond.services.datasets import diffs, reading
from millpond.services.datasets.diffs import Diff
from millpond.services.datasets.reading import TreeEntry
from millpond.services.deps import Deps
from millpond.services.listing import Listing
from millpond.services.people import access as people_access
from millpond.services.workspaces import access, sources


def diff(
    deps: Deps, actor: Actor, project: Project, written: str, before: str, after: str, *, limit: int, cursor: str | None
) -> Diff:
    """NotReady while one of them is not kept yet."""
    with deps.db.read() as tx:
        workspace = access.find_used(tx, actor, project, written)
        dataset, old = kept(tx, workspace, before)
        _, new = kept(tx, workspace, after)
    return diffs.diff(deps, dataset, old, new, limit=limit, cursor=cursor)


def entries(
    deps: Deps, actor: Actor, project: Project, written: str, snapshot: str, *, path: str, limit: int,
    cursor: str | None,
) -> Listing[TreeEntry]:  # fmt: skip
    """One directory of a kept snapshot."""
    with deps.db.read() as tx:
        dataset, commit = kept(tx, access.find_used(tx, actor, project, written), snapshot)
    return reading.entries(deps, dataset, commit, path=path, limit=limit, cursor=cursor)


def kept(tx: Connection, workspace: Workspace, written: str) -> tuple[Dataset, Commit]:
    """The commit that keeps a snapshot; NotReady before there is one."""
    snapshot = sources.find_snapshot(tx, workspace, written)
    if snapshot.commit_id is None:
        raise _not_kept(workspace, snapshot)
    commit = commits.get(tx, snapshot.commit_id)
    dataset = datasets.get(tx, commit.dataset_id) if commit else None
    if commit is None or dataset is None:
        raise people_access.not_found("commit", snapshot.commit_id)
    return dataset, commit


def kept_snapshot(deps: Deps, actor: Actor, project: Project, ref: str) -> tuple[Dataset, Commit]:
    """The commit of the hidden dataset that `ref` names, for those who may use its workspace and for agents that fill a
    volume with it; NotFound for others."""
    with deps.db.read() as tx:
        dataset = datasets.find(tx, project.id, WORKSPACE_DATASET)
        if dataset is None:
            raise people_access.not_found("commit", ref)
        commit = refs.resolve(tx, dataset, ref)
        if actor.kind is ActorKind.AGENT and fills.reads(tx, actor.agent_id, commit.id):
            return dataset, commit
        owners = {one.workspace_id for one in workspace_snapshots.by_commit(tx, commit.id)}
        if not any(access.uses(tx, actor, one) for one in workspaces.by_ids(tx, owners).values()):
            raise people_access.not_found("commit", ref)
    return dataset, commit


def _not_kept(workspace: Workspace, snapshot: WorkspaceSnapshot) -> NotReady:
    because = f" {snapshot.problem}" if snapshot.problem else ""
    return NotReady(
        f"Snapshot {snapshot.name!r} of {workspace.name} is not kept yet.{because}",
        hint=f"Its agent keeps it in the background. Wait for it: mill workspace wait {workspace.name}@{snapshot.name}",
    )
