"""Queues of templates: everybody sees them, administrators change them."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.model.template import Queue, QueueEntry
from millpond.services.computes import queues
from millpond.wire import templates as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/queues", tags=["queues"])


@router.get("")
def list_queues(
    actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Queue]:  # fmt: skip
    return page(queues.list_all(deps, limit=limit, cursor=cursor), _queue)


@router.post("", status_code=201)
def create_queue(body: wire.QueueCreate, actor: SiteAdmin, deps: DepsOf) -> wire.Queue:
    """Refused if a template or queue has the name."""
    return _queue(queues.create(deps, actor, body.name, _entries(body), body.description))


@router.get("/{queue}")
def get_queue(queue: str, actor: SignedIn, deps: DepsOf) -> wire.Queue:
    return _queue(queues.get(deps, queue))


@router.put("/{queue}")
def put_queue(queue: str, body: wire.QueuePut, actor: SiteAdmin, deps: DepsOf) -> wire.Queue:
    """New, or replaced as a whole. Queued jobs follow it."""
    return _queue(queues.put(deps, actor, queue, _entries(body), body.description))


@router.delete("/{queue}", status_code=204)
def delete_queue(queue: str, actor: SiteAdmin, deps: DepsOf) -> None:
    """Refused while queued jobs name it."""
    queues.remove(deps, actor, queue)


def _entries(body: wire.QueuePut) -> list[QueueEntry]:
    return [QueueEntry(one.template, one.patience_seconds) for one in body.templates]


def _queue(value: Queue) -> wire.Queue:
    return wire.Queue(
        name=value.name,
        templates=[wire.QueueEntry(template=e.template, patience_seconds=e.patience_seconds) for e in value.templates],
        description=value.description,
        created_at=value.created_at,
        created_by=value.created_by,
        changed_at=value.changed_at,
        changed_by=value.changed_by,
    )
