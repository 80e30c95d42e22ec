"""Mirrors of a project: made, listed, paused, run when somebody asks, removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import connections, mirrors, volumes
from millpond.db.mirrors import MirrorLabels
from millpond.errors import NameTaken, NotFound, NotReady, NotSignedIn
from millpond.model.ids import new_id
from millpond.model.mirror import Lag, Mirror
from millpond.model.names import check_name
from millpond.model.people import Actor, Project, Role
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.mirrors import ends, lag, to_bucket, to_volume
from millpond.services.mirrors.ends import BucketEnd, DatasetEnd, VolumeEnd, WorkspaceEnd
from millpond.services.mirrors.origin import check_uses, newest
from millpond.services.people import access, audit

MirrorState = Literal["running", "waiting", "failing", "paused"]
TOPIC = lag.EVENTS


@dataclass(frozen=True, slots=True)
class NewMirror:
    """Both ends as people write them (services/mirrors/ends.py)."""

    source: str
    target: str
    name: str | None = None
    label: str = ""
    connection: str | None = None
    volume: str | None = None
    every_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class MirrorView:
    """A mirror by names, how it stands, and how far it is behind."""

    mirror: Mirror
    labels: MirrorLabels
    state: MirrorState
    lag: Lag | None


def create(deps: Deps, actor: Actor, project: Project, asked: NewMirror) -> MirrorView:
    """A mirror that runs at once, in the name of whoever made it."""
    if actor.user_id is None:
        raise NotSignedIn("Only people can create mirrors.")
    now = deps.clock.now()
    try:
        with deps.db.write() as tx:
            mirror = _made(deps, tx, actor, project, asked, now)
            mirrors.insert(tx, mirror)
            _audit(tx, deps, actor, project, "mirror.create", mirror)
            view = views(tx, [mirror], now)[0]
    except IntegrityError as error:
        raise NameTaken(f"Mirror {asked.name!r} already exists.", hint="Choose another name.") from error
    announce(deps, mirror)
    deps.events.wake(lag.TOPIC)
    return view


def plan_new(deps: Deps, actor: Actor, project: Project, asked: NewMirror) -> Mapping[str, Any]:
    """What the first run would do; raises what `create` would raise. Changes nothing."""
    with deps.db.read() as tx:
        mirror = _made(deps, tx, actor, project, asked, deps.clock.now())
    return _planned(deps, mirror, None)


def plan(deps: Deps, actor: Actor, project: Project, name: str) -> Mapping[str, Any]:
    """What a run would do now. Of a workspace without label, what it would do with the last snapshot."""
    with deps.db.read() as tx:
        mirror = find(tx, actor, project, name)
        check_uses(tx, actor, project, mirror)
    return _planned(deps, mirror, mirror.id)


def list_all(
    deps: Deps, actor: Actor, project: Project, *, limit: int, cursor: str | None
) -> Listing[MirrorView]:  # fmt: skip
    with deps.db.read() as tx:
        found = mirrors.page(
            tx, project.id, limit=limit + 1, after=text_of(cursor), seen_by=_seen_by(actor, project)
        )  # fmt: skip
        shown = views(tx, found, deps.clock.now())
    return page_of(shown, limit, key=lambda item: item.mirror.name)


def get(deps: Deps, actor: Actor, project: Project, name: str) -> MirrorView:
    with deps.db.read() as tx:
        return views(tx, [find(tx, actor, project, name)], deps.clock.now())[0]


def find(tx: Connection, actor: Actor, project: Project, name: str) -> Mirror:
    """NotFound, with the nearest names, also for one of a workspace that the actor does not see."""
    seen_by = _seen_by(actor, project)
    found = mirrors.find(tx, project.id, name, seen_by=seen_by)
    if found is None:
        known = mirrors.page(tx, project.id, limit=1000, seen_by=seen_by)
        raise access.not_found("mirror", name, [one.name for one in known])
    return found


def change(
    deps: Deps, actor: Actor, project: Project, name: str, *, paused: bool | None = None,
    every_seconds: int | None = None,
) -> MirrorView:  # fmt: skip
    """Pause, resume or reschedule. Who resumes it is the one in whose name it runs from then on."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = find(tx, actor, project, name)
        values: dict[str, object] = {}
        if every_seconds is not None:
            values |= {"every_seconds": every_seconds}
        if paused is True and found.paused_at is None:
            values |= {"paused_at": now}
        if paused is False and found.paused_at is not None:
            check_uses(tx, actor, project, found)
            values |= {"paused_at": None, "user_id": actor.user_id, "next_at": now, "failures": 0, "problem": None}
        if values:
            mirrors.change(tx, found.id, **values)
            now_is = find(tx, actor, project, found.id)
            _audit(tx, deps, actor, project, "mirror.change", found, before=_told(found), after=_told(now_is))
        view = views(tx, [find(tx, actor, project, found.id)], now)[0]
    announce(deps, found)
    return view


def run_now(deps: Deps, actor: Actor, project: Project, name: str) -> MirrorView:
    """Let it run as soon as a server has a hand free; after the run under way, if there is one. NotReady while it is
    paused."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = find(tx, actor, project, name)
        if found.paused_at is not None:
            raise NotReady(f"Mirror {name!r} is paused.", hint=f"Resume it: mill mirror resume {name}")
        mirrors.change(tx, found.id, asked_at=now, next_at=now)
        _audit(tx, deps, actor, project, "mirror.run", found)
        view = views(tx, [find(tx, actor, project, found.id)], now)[0]
    announce(deps, found)
    return view


def delete(deps: Deps, actor: Actor, project: Project, name: str) -> None:
    """What it has put stays in the bucket. What it kept on a volume ages like other cached commits."""
    with deps.db.write() as tx:
        found = find(tx, actor, project, name)
        mirrors.delete(tx, found.id)
        _audit(tx, deps, actor, project, "mirror.delete", found, before=_told(found))
    announce(deps, found)


def views(tx: Connection, found: Iterable[Mirror], now: datetime) -> list[MirrorView]:
    shown = list(found)
    labels = mirrors.labels(tx, shown)
    return [MirrorView(one, labels[one.id], _state(one), lag.lag_of(one, now)) for one in shown]


def announce(deps: Deps, mirror: Mirror) -> None:
    """Tell pages and the loops that run mirrors."""
    # Without its name: that of a private workspace's mirror is not everybody's to read.
    data = {"id": mirror.id, "what": "mirror"}
    deps.events.publish(TOPIC, project_id=mirror.project_id, data=data)
    deps.events.wake(TOPIC)


def _made(deps: Deps, tx: Connection, actor: Actor, project: Project, asked: NewMirror, now: datetime) -> Mirror:
    source = ends.source_of(tx, actor, project, asked.source, label=asked.label)
    target = ends.target_of(
        deps, tx, actor, project, asked.target, source, connection=asked.connection, volume=asked.volume
    )
    base = source.dataset.name if isinstance(source, DatasetEnd) else source.workspace.name
    return Mirror(
        id=new_id(),
        project_id=project.id,
        name=check_name(asked.name or _free_name(tx, project, base), "mirror"),
        user_id=actor.user_id,
        dataset_id=source.dataset.id if isinstance(source, DatasetEnd) else None,
        branch=source.branch if isinstance(source, DatasetEnd) else "",
        workspace_id=source.workspace.id if isinstance(source, WorkspaceEnd) else None,
        label=source.label if isinstance(source, WorkspaceEnd) else "",
        connection_id=target.connection.id if isinstance(target, BucketEnd) else None,
        uri=target.uri if isinstance(target, BucketEnd) else "",
        volume_id=target.volume.id if isinstance(target, VolumeEnd) else None,
        every_seconds=asked.every_seconds,
        created_at=now,
        next_at=now,
    )


def _planned(deps: Deps, mirror: Mirror, mirror_id: str | None) -> Mapping[str, Any]:
    with deps.db.read() as tx:
        origin = newest(tx, mirror)
        connection = connections.get(tx, mirror.connection_id) if mirror.connection_id else None
        volume = volumes.get(tx, mirror.volume_id) if mirror.volume_id else None
    if origin is None:
        raise NotFound(
            "There is nothing to compare yet: no commit, and no kept snapshot.",
            hint="A run takes a snapshot of a workspace first; a dry run does not.",
        )
    if connection is not None:
        order = to_bucket.BucketOrder(origin, connection, mirror.uri, mirror_id, dry_run=True)
        return to_bucket.carry_out(deps, order).told(dry_run=True)
    assert volume is not None, "a mirror leads to a bucket or to a volume"
    return to_volume.plan(deps, volume, origin).told(dry_run=True)


def _seen_by(actor: Actor, project: Project) -> str | None:
    return None if actor.role_in(project.id) is Role.ADMIN else actor.user_id or ""


def _state(mirror: Mirror) -> MirrorState:
    if mirror.paused_at is not None:
        return "paused"
    if mirror.is_under_way:
        return "running"
    return "failing" if mirror.failures else "waiting"


def _free_name(tx: Connection, project: Project, wanted: str) -> str:
    taken = set(mirrors.names(tx, project.id))
    return next(
        name for n in range(1, len(taken) + 2) if (name := wanted if n == 1 else f"{wanted[:58]}-{n}") not in taken
    )


def _told(mirror: Mirror) -> dict[str, object]:
    """Of a mirror, for the audit log."""
    return {**audit.values_of(mirror, "uri", "branch", "every_seconds"), "paused": mirror.paused_at is not None}


def _audit(
    tx: Connection, deps: Deps, actor: Actor, project: Project, action: str, mirror: Mirror, *,
    before: Mapping[str, Any] | None = None, after: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=mirror.name, project_id=project.id,
        details={"uri": mirror.uri} if mirror.uri else {"volume": mirror.volume_id},
        before=before, after=after,
    )  # fmt: skip
