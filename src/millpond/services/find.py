"""Finding everything the actor may see by name or id: the best matches first, whatever they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from millpond.db import computes
from millpond.db import find as rows
from millpond.model.find import FindText, Found, Match, Noun
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.people import access

_MATCHES = list(Match)
_NOUNS = list(Noun)


def find(deps: Deps, actor: Actor, text: str, *, limit: int) -> Sequence[Found]:
    """At most `limit`; nothing for an empty text."""
    asked = FindText.parse(text)
    if asked.is_empty:
        return ()
    with deps.db.read() as tx:
        found = list(_found(tx, actor, asked, limit))
    # Sorting is stable: within a noun, the order of the database stays.
    found.sort(key=lambda item: (_MATCHES.index(item.match), _NOUNS.index(item.noun)))
    return found[:limit]


def _found(tx: Connection, actor: Actor, asked: FindText, limit: int) -> Iterator[Found]:
    among = access.visible_projects(actor)
    for look in (rows.projects, rows.datasets, rows.jobs, rows.runs, rows.searches, rows.models):
        yield from look(tx, asked, among, limit)
    for look in (rows.imports, rows.refs, rows.commits):
        yield from look(tx, asked, among, limit)
    # Computes, volumes and sites are everybody's; users only those of site administrators.
    yield from _computes(tx, asked)
    yield from rows.places(tx, asked, limit)
    if actor.is_admin:
        yield from rows.users(tx, asked, limit)


def _computes(tx: Connection, asked: FindText) -> Iterator[Found]:
    if asked.project is not None or asked.number is not None:
        return
    for compute in sorted(computes.all_computes(tx), key=lambda compute: compute.name):
        if all(word in compute.name for word in asked.words):
            yield Found(Noun.COMPUTE, compute.id, compute.name, _match(compute.name, asked.name), detail=compute.site)


def _match(name: str, text: str) -> Match:
    if name == text:
        return Match.EXACT
    return Match.PREFIX if name.startswith(text) else Match.PART
