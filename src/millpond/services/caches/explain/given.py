"""Which source gave which bytes to fills, by the names that people know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import lake_replicas, links, volumes
from millpond.db.caches import CachedView
from millpond.model.fill_source import SourceKey, SourceKind
from millpond.model.quantity import format_bytes

_NAMES = {
    SourceKind.LAKE: "the lake",
    SourceKind.OUTSIDE: "objects outside the lake",
    SourceKind.VOLUME: "other commits on the volume",
    SourceKind.DISK: "outputs kept on the machine",
}


@dataclass(frozen=True, slots=True)
class SourceGave:
    """What one source gave to a fill."""

    kind: SourceKind
    name: str
    bytes: int


def given_to(tx: Connection, found: Iterable[CachedView]) -> Mapping[str, Sequence[SourceGave]]:
    """By the id of the cached commit, the largest first. What is not known is left out."""
    known = {volume.id: f"volume {volume.name} at {volume.site}" for volume in volumes.all_of(tx)}
    known |= {id: f"replica {name}" for id, name in lake_replicas.by_id(tx).items()}
    rates = links.rates(tx)
    return {view.cached.id: _named(rates[view.cached.id].given, known) for view in found if view.cached.id in rates}


def in_words(given: Sequence[SourceGave]) -> str:
    return ", ".join(f"{format_bytes(one.bytes)} from {one.name}" for one in given)


def _named(given: Mapping[SourceKey, int], known: Mapping[str, str]) -> list[SourceGave]:
    ordered = sorted(given.items(), key=lambda item: (-item[1], item[0]))
    return [SourceGave(key.kind, _name(key, known), size) for key, size in ordered]


def _name(key: SourceKey, known: Mapping[str, str]) -> str:
    if key.kind in _NAMES:
        return _NAMES[key.kind]
    gone = "a replica" if key.kind is SourceKind.REPLICA else "a volume"
    return known.get(key.id, f"{gone} that no longer exists")
