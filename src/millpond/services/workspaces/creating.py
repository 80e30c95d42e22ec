"""New workspaces: empty, from a commit, or as clones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import leases, volumes, workspaces
from millpond.errors import BadRequest, Invalid, NameTaken, NotSignedIn
from millpond.model.ids import new_id
from millpond.model.people import Actor, Project, Role
from millpond.model.volume import Volume
from millpond.model.workspace import NOTHING, Begins, How, SnapshotOrigin, Workspace, WorkspaceSource, WorkspaceState
from millpond.services.caches.access import announce as announce_caches
from millpond.services.caches.admission.admit import start_fills
from millpond.services.deps import Deps
from millpond.services.people import access as people_access
from millpond.services.places import geography
from millpond.services.workspaces import access, planning, room, snapshots, sources
from millpond.services.workspaces.planning import Planned, Wanted

# Called in the transaction that inserts the workspace.
Also = Callable[[Connection, Workspace], None]


def plan(deps: Deps, actor: Actor, project: Project, wanted: Wanted) -> Planned:
    """Where it would go, how it would be made and how long that would take; raises what `create` would raise."""
    people_access.require(actor, project, Role.MEMBER)
    planning.check_wanted(wanted)
    with deps.db.read() as tx:
        _check_name(tx, project, wanted.name)
        return planning.plan(
            tx, project, wanted, geography.of_now(tx, deps), deps.clock.now(), sees=partial(people_access.sees, actor)
        )


def create(deps: Deps, actor: Actor, project: Project, wanted: Wanted, also: Also | None = None) -> Workspace:
    """Reserve its size and have it made. NameTaken if a living one of the project has the name."""
    people_access.require(actor, project, Role.MEMBER)
    planning.check_wanted(wanted)
    if actor.user_id is None:
        raise NotSignedIn("Only people can create workspaces.")
    now = deps.clock.now()
    sees = partial(people_access.sees, actor)
    with deps.db.write() as tx:
        _check_name(tx, project, wanted.name)
        planned = planning.plan(tx, project, wanted, geography.of_now(tx, deps), now, sees=sees)
        volume = volumes.lock(tx, planned.volume.id)
        assert volume is not None, "it was just planned with, in this transaction"
        written = f"workspace {project.name}/{wanted.name}"
        size = 0 if wanted.storage_class else wanted.size_bytes
        evicted = room.reserve(tx, volume, written, size, project.id, project.name, now, sees=sees)
        source = anchored(tx, deps, actor, wanted.source, volume, wanted.storage_class)
        made = _new(actor, project, volume, replace(wanted, source=source), planned, now)
        try:
            with tx.begin_nested():
                workspaces.insert(tx, made)
        except IntegrityError as error:
            raise _taken(project, wanted.name) from error
        lease_source(tx, made, now)
        start_fills(tx, volume, now)
        access.record(tx, deps, actor, made, "create", source=source.written, size=wanted.size_bytes)
        if also is not None:
            also(tx, made)
        created = workspaces.get(tx, made.id)
    assert created is not None
    announce_caches(deps, evicted)
    access.announce(deps, created, "created")
    return created


def source_of(
    deps: Deps, actor: Actor, project: Project, *, dataset: str | None = None, workspace: str | None = None
) -> tuple[WorkspaceSource, Workspace | None]:
    """What a workspace is to begin with, and the workspace it is cloned from."""
    if dataset and workspace:
        raise BadRequest("A workspace begins with a dataset or with another workspace, not both.")
    if dataset:
        return sources.of_dataset(deps, actor, project, dataset), None
    if workspace:
        with deps.db.read() as tx:
            origin, source = sources.of_workspace(tx, actor, project, workspace)
        return source, origin
    return NOTHING, None


def clone_size(origin: Workspace | None, source: WorkspaceSource, asked: int | None) -> int:
    """As asked for; without that, as large as what it is cloned from."""
    if asked is not None:
        return asked
    if origin is not None:
        return max(origin.size_bytes, source.bytes)
    raise Invalid("No size given.", hint="Add --size, like --size 20GB.", fields=["size_bytes"])


def placed_like(origin: Workspace | None, wanted: Wanted) -> Wanted:
    """A clone of a claim is one of the same class, unless somebody says where it goes."""
    chosen = wanted.storage_class or wanted.volume or wanted.near or wanted.tier
    if origin is None or not origin.is_claim or chosen:
        return wanted
    many = wanted.many_nodes or origin.many_nodes
    return replace(wanted, storage_class=origin.storage_class, many_nodes=many, volume=origin.volume)


def lease_source(tx: Connection, workspace: Workspace, now: datetime) -> None:
    """Keep the cached commit that it is made from: while it is made, as the lower layer for as long as it lives."""
    leases.release_workspace(tx, workspace.id)
    cached = sources.cached_on(tx, workspace.source, workspace.volume_id)
    is_needed = workspace.state is WorkspaceState.CREATING or workspace.how is How.OVERLAY
    if cached is not None and is_needed:
        leases.hold_for_workspace(tx, cached.cached.id, workspace.id, written=workspace.written, now=now)


def anchored(
    tx: Connection, deps: Deps, actor: Actor, source: WorkspaceSource, volume: Volume, storage_class: str
) -> WorkspaceSource:  # fmt: skip
    """Another volume cannot have a tree that is being written: there a snapshot of it is taken first, and kept.

    Nor can a claim have that of a directory, and the other way round.
    """
    if source.kind is not Begins.WORKSPACE:
        return source
    origin = access.lock(tx, source.workspace_id)
    if origin is None or (origin.volume_id == volume.id and origin.is_claim == bool(storage_class)):
        return source
    taken = snapshots.take_in(tx, deps, actor, origin, series="clone", origin=SnapshotOrigin.MANUAL)
    return sources.of_snapshot(origin, taken)


def _new(
    actor: Actor, project: Project, volume: Volume, wanted: Wanted, planned: Planned, now: datetime
) -> Workspace:  # fmt: skip
    return Workspace(
        id=new_id(),
        project_id=project.id,
        project=project.name,
        name=wanted.name,
        owner_id=actor.user_id or "",
        owner=actor.name,
        shared=wanted.shared,
        volume_id=volume.id,
        volume=volume.name,
        volume_path=volume.path,
        site_id=volume.site_id,
        site=volume.site,
        size_bytes=wanted.size_bytes,
        storage_class=wanted.storage_class,
        many_nodes=wanted.many_nodes,
        read_only=wanted.read_only,
        how=planned.decision.how,
        reasons=planned.reasons,
        expected_seconds=planned.decision.seconds,
        source=wanted.source,
        created_at=now,
        changed_at=now,
        git_url=wanted.git_url,
        git_ref=wanted.git_ref,
    )


def _check_name(tx: Connection, project: Project, name: str) -> None:
    if workspaces.find(tx, project.id, name) is not None:
        raise _taken(project, name)


def _taken(project: Project, name: str) -> NameTaken:
    """Said to everybody alike: a private one of somebody else has its name, too."""
    return NameTaken(
        f"Project {project.name} already has a workspace {name!r}.", hint="Choose another name.", name=name
    )
