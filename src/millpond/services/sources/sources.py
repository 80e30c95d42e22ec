"""Sources: what a place holds is brought into a dataset again and again, only differences each time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import sources
from millpond.errors import NameTaken, NotReady
from millpond.model.ids import new_id
from millpond.model.names import DEFAULT_BRANCH, check_name, check_ref_name
from millpond.model.people import Actor, Project
from millpond.model.source import Source
from millpond.services.commits.refs import refuse_system
from millpond.services.datasets import datasets as dataset_service
from millpond.services.datasets.reading import directory_path
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit
from millpond.services.sources import connections
from millpond.services.sources.place_listing import Wanted, check_wanted

SourceState = Literal["running", "waiting", "failing", "paused"]
TOPIC = "sources"


@dataclass(frozen=True, slots=True)
class NewSource:
    """What a place holds, to be brought into a dataset now and again every so often."""

    dataset: str
    connection: str
    uri: str
    name: str | None = None
    listing: bool = False
    path: str = ""
    branch: str = DEFAULT_BRANCH
    copies: bool = False  # into the lake; otherwise objects are registered and stay where they are
    every_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source by names, and how it stands. `user`: in whose name it commits; None if that user is gone."""

    source: Source
    project: str
    dataset: str
    connection: str
    user: str | None
    state: SourceState


def create(deps: Deps, actor: Actor, project: Project, asked: NewSource) -> SourceView:
    """A source that runs at once, in the name of whoever made it."""
    check_ref_name(asked.branch)
    wanted = Wanted(asked.uri, asked.listing, directory_path(asked.path))
    now = deps.clock.now()
    try:
        with deps.db.write() as tx:
            dataset = dataset_service.find(tx, project, asked.dataset)
            refuse_system(dataset)
            connection = connections.find(tx, project, asked.connection)
            check_wanted(connection.place, wanted)
            source = Source(
                id=new_id(),
                project_id=project.id,
                name=check_name(asked.name or _free_name(tx, project, dataset.name), "source"),
                dataset_id=dataset.id,
                connection_id=connection.id,
                user_id=actor.user_id,
                uri=asked.uri,
                listing=asked.listing,
                path=wanted.path,
                branch=asked.branch,
                copies=asked.copies,
                every_seconds=asked.every_seconds,
                created_at=now,
                next_at=now,
            )
            sources.insert(tx, source)
            _audit(tx, deps, actor, project, "source.create", source, after=_told(source))
            view = view_of(tx, source, now)
    except IntegrityError as error:
        raise NameTaken(f"Source {asked.name!r} already exists.", hint="Choose another name.") from error
    announce(deps, source)
    return view


def list_all(
    deps: Deps, project: Project, *, dataset: str | None, limit: int, cursor: str | None
) -> Listing[SourceView]:
    with deps.db.read() as tx:
        only = dataset_service.find(tx, project, dataset).id if dataset is not None else None
        found = sources.page(tx, project.id, limit=limit + 1, after=text_of(cursor), dataset_id=only)
        shown = [view_of(tx, source, deps.clock.now()) for source in found]
    return page_of(shown, limit, key=lambda item: item.source.name)


def get(deps: Deps, project: Project, name: str) -> SourceView:
    with deps.db.read() as tx:
        return view_of(tx, find(tx, project, name), deps.clock.now())


def find(tx: Connection, project: Project, name: str) -> Source:
    found = sources.find(tx, project.id, name)
    if found is None:
        raise access.not_found("source", name, sources.names(tx, project.id))
    return found


def change(
    deps: Deps,
    actor: Actor,
    project: Project,
    name: str,
    *,
    paused: bool | None = None,
    every_seconds: int | None = None,
) -> SourceView:
    """Pause, resume or reschedule. Who resumes it is the one in whose name it commits from then on."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = find(tx, project, name)
        values: dict[str, object] = {}
        if every_seconds is not None:
            values |= {"every_seconds": every_seconds}
        if paused is True and found.paused_at is None:
            values |= {"paused_at": now}
        if paused is False and found.paused_at is not None:
            values |= {"paused_at": None, "user_id": actor.user_id, "next_at": now, "failures": 0, "problem": None}
        if values:
            sources.change(tx, found.id, **values)
            now_is = find(tx, project, found.id)
            _audit(tx, deps, actor, project, "source.change", found, before=_told(found), after=_told(now_is))
        view = view_of(tx, find(tx, project, found.id), now)
    announce(deps, found)
    return view


def run_now(deps: Deps, actor: Actor, project: Project, name: str) -> SourceView:
    """Let it run as soon as a server has a hand free. NotReady while it is paused."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = find(tx, project, name)
        if found.paused_at is not None:
            raise NotReady(f"Source {name!r} is paused.", hint=f"Resume it: mill source resume {name}")
        sources.change(tx, found.id, next_at=now)
        _audit(tx, deps, actor, project, "source.run", found)
        view = view_of(tx, find(tx, project, found.id), now)
    announce(deps, found)
    return view


def delete(deps: Deps, actor: Actor, project: Project, name: str) -> None:
    """What it has brought stays in the dataset."""
    with deps.db.write() as tx:
        found = find(tx, project, name)
        sources.delete(tx, found.id)
        _audit(tx, deps, actor, project, "source.delete", found, before=_told(found))
    announce(deps, found)


def view_of(tx: Connection, source: Source, now: datetime) -> SourceView:
    project, dataset, connection, user = sources.labels(tx, source)
    return SourceView(source, project, dataset, connection, user, _state(source, now))


def announce(deps: Deps, source: Source) -> None:
    """Tell pages and the loops that run sources."""
    data = {"id": source.id, "what": "source", "name": source.name}
    deps.events.publish(TOPIC, project_id=source.project_id, data=data)
    deps.events.wake(TOPIC)


def _state(source: Source, now: datetime) -> SourceState:
    if source.is_running(now):
        return "running"
    if source.paused_at is not None:
        return "paused"
    return "failing" if source.failures else "waiting"


def _free_name(tx: Connection, project: Project, wanted: str) -> str:
    taken = set(sources.names(tx, project.id))
    return next(
        name for n in range(1, len(taken) + 2) if (name := wanted if n == 1 else f"{wanted[:58]}-{n}") not in taken
    )


def _told(source: Source) -> dict[str, object]:
    """Of a source, for the audit log."""
    told = audit.values_of(source, "path", "branch", "copies", "every_seconds")
    return {"uri": source.uri.partition("?")[0], "paused": source.paused_at is not None, **told}


def _audit(
    tx: Connection, deps: Deps, actor: Actor, project: Project, action: str, source: Source, *,
    before: dict[str, object] | None = None, after: dict[str, object] | None = None,
) -> None:  # fmt: skip
    audit.record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=source.name, project_id=project.id,
        details={"uri": source.uri.partition("?")[0]}, before=before, after=after,
    )  # fmt: skip
