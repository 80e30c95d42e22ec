"""Queues: templates that a job tries in turn, waiting a set time for each (`--on`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import queues
from millpond.errors import Invalid, NameTaken
from millpond.model.ids import new_id
from millpond.model.names import check_name
from millpond.model.people import Actor
from millpond.model.template import Queue, QueueEntry
from millpond.services.computes import templates
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit


def create(deps: Deps, actor: Actor, name: str, entries: Sequence[QueueEntry], description: str = "") -> Queue:
    """NameTaken if a template or queue has the name."""
    with deps.db.read() as tx:
        if queues.find(tx, name) is not None:
            raise NameTaken(f"Queue {name!r} already exists.", hint=f"Change it: mill queue update {name}")
    return put(deps, actor, name, entries, description)


def put(deps: Deps, actor: Actor, name: str, entries: Sequence[QueueEntry], description: str = "") -> Queue:
    """Create or replace it. Queued jobs that name it follow."""
    check_name(name, "queue")
    _check_once(entries)
    now = deps.clock.now()
    try:
        with deps.db.write() as tx:
            for entry in entries:
                templates.find(tx, entry.template)
            before = queues.find(tx, name)
            if before is None:
                templates.check_free(tx, name, "template")
                value = Queue(new_id(), name, tuple(entries), now, actor.name, now, actor.name, description)
                queues.insert(tx, value)
            else:
                value = replace(
                    before, templates=tuple(entries), description=description, changed_at=now, changed_by=actor.name
                )
                queues.change(tx, value)
            action = "queue.create" if before is None else "queue.update"
            details = {"templates": [entry.template for entry in entries]}
            audit.record(
                tx, now=now, actor=actor, action=action, subject=name, details=details,
                before=_told(before) if before else None, after=_told(value),
            )  # fmt: skip
    except IntegrityError as error:
        raise NameTaken(f"Queue {name!r} is being created by somebody else.", hint="Try again.") from error
    deps.events.wake("schedule")
    return value


def remove(deps: Deps, actor: Actor, name: str) -> None:
    """InUse, naming them, while queued jobs name it."""
    with deps.db.write() as tx:
        found = find(tx, name)
        templates.refuse_waiting(tx, "Queue", name)
        queues.delete(tx, found.id)
        audit.record(tx, now=deps.clock.now(), actor=actor, action="queue.delete", subject=name, before=_told(found))


def _told(queue: Queue) -> dict[str, object]:
    return audit.values_of(queue, "templates", "description")


def get(deps: Deps, name: str) -> Queue:
    with deps.db.read() as tx:
        return find(tx, name)


def list_all(deps: Deps, *, limit: int, cursor: str | None) -> Listing[Queue]:
    with deps.db.read() as tx:
        found = queues.page(tx, limit=limit + 1, after=text_of(cursor))
    return page_of(found, limit, key=lambda item: item.name)


def find(tx: Connection, name: str) -> Queue:
    found = queues.find(tx, name)
    if found is None:
        raise access.not_found("queue", name, queues.by_name(tx))
    return found


def _check_once(entries: Sequence[QueueEntry]) -> None:
    names = [entry.template for entry in entries]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Invalid(f"Template {twice!r} is listed twice.", hint="List each template once.", fields=["templates"])
