"""Changes of workspaces: sharing, resizing; into the bin, out of it, and away for good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import leases, volumes, workspace_snapshots, workspaces
from millpond.errors import Forbidden, InUse, Invalid, NameTaken
from millpond.model.names import WORKSPACE_DATASET
from millpond.model.people import SYSTEM, Actor, Project, Role
from millpond.model.quantity import format_bytes
from millpond.model.volume import Volume
from millpond.model.workspace import How, SnapshotState, Workspace, WorkspaceState
from millpond.services.caches.access import announce as announce_caches
from millpond.services.caches.admission.admit import start_fills
from millpond.services.commits import system_branches
from millpond.services.deps import Deps
from millpond.services.people import access as people_access
from millpond.services.workspaces import access, planning, room
from millpond.services.workspaces.storage import class_of

logger = getLogger(__name__)
_AT_ONCE = 100


def share(deps: Deps, actor: Actor, project: Project, written: str, *, shared: bool) -> Workspace:
    """Let members of the project use it, or its owner alone. Running jobs of others go on."""
    with deps.db.write() as tx:
        before = access.lock_used(tx, actor, project, written)
        if not access.is_owner(actor, before):
            raise Forbidden(f"Only {before.owner} can share workspace {before.name!r}.")
        after = replace(before, shared=shared, changed_at=deps.clock.now())
        workspaces.save(tx, after)
        access.record(tx, deps, actor, after, "share" if shared else "unshare",
                      before={"shared": not shared}, after={"shared": shared})  # fmt: skip
    access.announce(deps, after)
    return after


def resize(deps: Deps, actor: Actor, project: Project, written: str, size: int) -> Workspace:
    """Reserve another size. DoesNotFit if the volume has no room for more, Invalid for less than it holds."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = access.find(tx, actor, project, written)
        access.require_change(actor, found)
        before = _locked(tx, found)
        if not planning.LEAST_BYTES <= size <= planning.MOST_BYTES:
            least = format_bytes(planning.LEAST_BYTES)
            raise Invalid(f"The size of a workspace must be at least {least}.", fields=["size_bytes"])
        if size < before.used_bytes:
            raise Invalid(
                f"Workspace {before.name!r} holds {format_bytes(before.used_bytes)}, more than {format_bytes(size)}.",
                hint="Remove files first.", fields=["size_bytes"],
            )  # fmt: skip
        volume = volumes.get(tx, before.volume_id)
        assert volume is not None, "workspaces keep their volume"
        _check_claim(before, volume, size)
        evicted = (
            room.reserve(
                tx, volume, f"workspace {before.written}", size, before.project_id, before.project, now,
                sees=partial(people_access.sees, actor), besides=before.id,
            )
            if size > before.size_bytes and not before.is_claim
            else ()
        )  # fmt: skip
        # Measured anew, so that its agent hears of the size.
        after = replace(before, size_bytes=size, changed_at=now, measure=before.state is WorkspaceState.READY)
        workspaces.save(tx, after)
        start_fills(tx, volume, now)
        access.record(tx, deps, actor, after, "resize", before={"size": before.size_bytes}, after={"size": size})
    announce_caches(deps, evicted)
    access.announce(deps, after)
    return after


def delete(deps: Deps, actor: Actor, project: Project, written: str) -> Workspace:
    """Into the bin. InUse, naming them, while jobs have it."""
    with deps.db.write() as tx:
        found = access.find(tx, actor, project, written)
        access.require_change(actor, found)
        before = _locked(tx, found)
        _check_unused(tx, before)
        after = replace(before, deleted_at=deps.clock.now(), deleted_by=actor.name, changed_at=deps.clock.now())
        workspaces.save(tx, after)
        access.record(tx, deps, actor, after, "delete")
    access.announce(deps, after, "deleted")
    deps.events.wake("agents")
    return after


def undelete(deps: Deps, actor: Actor, project: Project, written: str) -> Workspace:
    """Out of the bin, with its size reserved again. NameTaken if another has its name now."""
    now = deps.clock.now()
    try:
        with deps.db.write() as tx:
            before = _in_bin(tx, deps, actor, project, written)
            volume = volumes.get(tx, before.volume_id)
            assert volume is not None, "workspaces keep their volume"
            size = 0 if before.is_claim else before.size_bytes
            evicted = room.reserve(
                tx, volume, f"workspace {before.written}", size, before.project_id, before.project, now,
                sees=partial(people_access.sees, actor), besides=before.id,
            )  # fmt: skip
            after = replace(before, deleted_at=None, deleted_by=None, changed_at=now)
            workspaces.save(tx, after)
            access.record(tx, deps, actor, after, "undelete")
    except IntegrityError as error:
        raise NameTaken(
            f"Project {project.name} has another workspace {written!r} now.", hint="Remove that one first.",
            name=written,
        ) from error  # fmt: skip
    announce_caches(deps, evicted)
    access.announce(deps, after, "created")
    return after


def purge(deps: Deps, actor: Actor, project: Project, written: str) -> None:
    """Remove one from the bin for good, with its snapshots. InUse while another lies over one of them."""
    with deps.db.write() as tx:
        found = _in_bin(tx, deps, actor, project, written)
        if users := _built_on(tx, found):
            raise InUse(
                f"Workspaces are built on {found.name!r}: {', '.join(users)}.", hint="Remove them first.",
                depends=list(users),
            )  # fmt: skip
        after = _begin_removal(tx, found)
        access.record(tx, deps, actor, after, "purge")
    access.announce(deps, after, "deleted")


def purge_old(deps: Deps, now: datetime) -> None:
    """Remove what has lain in the bin for `bin_days`."""
    with deps.db.read() as tx:
        old = workspaces.deleted_before(tx, now - timedelta(days=deps.settings.bin_days), limit=_AT_ONCE)
    for one in old:
        with deps.db.write() as tx:
            found = access.lock(tx, one.id)
            if found is None or found.deleted_at is None or found.state is WorkspaceState.REMOVING:
                continue
            if _built_on(tx, found):
                continue
            access.record(tx, deps, SYSTEM, _begin_removal(tx, found), "purge")
        access.announce(deps, one, "deleted")


def settle(deps: Deps, now: datetime) -> None:
    """Finish removals: what has left its volume, or never was there, leaves the lake and then its table.

    Branches go first, rows last: interrupted, it goes on from the rows.
    """
    with deps.db.read() as tx:
        leaving = workspaces.in_state(tx, WorkspaceState.REMOVING)
        going = workspace_snapshots.in_state(tx, SnapshotState.REMOVING)
        owners = workspaces.by_ids(tx, {one.workspace_id for one in going})
    for snapshot in going:
        if not snapshot.is_near and (owner := owners.get(snapshot.workspace_id)) is not None:
            system_branches.remove(deps, owner.project_id, WORKSPACE_DATASET, snapshot.branch, now)
            with deps.db.write() as tx:
                workspace_snapshots.delete(tx, snapshot.workspace_id, snapshot.number)
            access.announce(deps, owner, "snapshot")
    for workspace in leaving:
        if workspace.attempt == 0:
            _forget(deps, workspace, now)


def _forget(deps: Deps, workspace: Workspace, now: datetime) -> None:
    with deps.db.read() as tx:
        known = workspace_snapshots.of_workspace(tx, workspace.id)
    for one in known:
        system_branches.remove(deps, workspace.project_id, WORKSPACE_DATASET, one.branch, now)
    with deps.db.write() as tx:
        volume = volumes.lock(tx, workspace.volume_id)
        leases.release_workspace(tx, workspace.id)
        workspaces.delete(tx, workspace.id)
        if volume is not None:
            start_fills(tx, volume, now)
    logger.info("workspace_removed workspace=%s", workspace.id)
    access.announce(deps, workspace, "deleted")


def _begin_removal(tx: Connection, found: Workspace) -> Workspace:
    # One that was never begun is nowhere.
    attempt = volumes.take_attempt(tx, found.volume_id) if found.attempt else 0
    after = replace(found, state=WorkspaceState.REMOVING, attempt=attempt, problem=None, measure=False, restore=None)
    workspaces.save(tx, after)
    return after


def _in_bin(tx: Connection, deps: Deps, actor: Actor, project: Project, written: str) -> Workspace:
    found = workspaces.find_deleted(tx, project.id, written)
    since = deps.clock.now() - timedelta(days=deps.settings.bin_days)
    if found is not None and found.deleted_at is not None and found.deleted_at >= since:
        is_gone = found.state is WorkspaceState.REMOVING
        role = actor.role_in(project.id)
        if not is_gone and (access.is_owner(actor, found) or role is Role.ADMIN):
            return _locked(tx, found)
    raise people_access.not_found("deleted workspace", written)


def _built_on(tx: Connection, workspace: Workspace) -> Sequence[str]:
    """Workspaces that are being made from it, or lie over its snapshots."""
    clones = workspaces.clones_of(tx, workspace.id)
    return [
        one.name
        for one in clones
        if one.id != workspace.id and (one.how is How.OVERLAY or one.state is WorkspaceState.CREATING)
    ]


def _check_unused(tx: Connection, workspace: Workspace) -> None:
    living = workspaces.living_jobs(tx, [workspace.id]).get(workspace.id, ())
    if living:
        named = [f"{name} ({job_id})" for job_id, name, _ in living]
        raise InUse(
            f"Workspace {workspace.name!r} is used by job {', '.join(named[:5])}.",
            hint=f"Stop it first: mill stop {living[0][1]}", depends=[f"job {one}" for one in named],
        )  # fmt: skip
    if workspace.state is WorkspaceState.RESTORING:
        raise InUse(f"Workspace {workspace.name!r} is being restored.", hint="Wait until that is done.")


def _check_claim(workspace: Workspace, volume: Volume, size: int) -> None:
    """Invalid for what a claim of its class cannot become."""
    if not workspace.is_claim:
        return
    if size < workspace.size_bytes:
        raise Invalid(
            f"Workspace {workspace.name!r} is a claim of {format_bytes(workspace.size_bytes)}. Claims never shrink.",
            hint="Clone it into a smaller one: mill workspace clone SOURCE NEW --size SIZE", fields=["size_bytes"],
        )  # fmt: skip
    found = class_of(volume, workspace.storage_class)
    if size > workspace.size_bytes and found is not None and not found["expands"]:
        raise Invalid(
            f"Claims of storage class {workspace.storage_class} cannot be made larger (allowVolumeExpansion).",
            hint=f"Clone it: mill workspace clone {workspace.name} NEW --size SIZE", fields=["size_bytes"],
        )  # fmt: skip


def _locked(tx: Connection, found: Workspace) -> Workspace:
    locked = access.lock(tx, found.id)
    if locked is None:
        raise people_access.not_found("workspace", found.name)
    return locked
