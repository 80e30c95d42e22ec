"""Artifacts on their way into a run's commit: staged entries, and the loose objects of earlier versions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, exists, select

from millpond.db.batches import batches
from millpond.db.tables import loose_artifact, run, staged_artifact
from millpond.model.tree import Content, Entry, Kind

_staged = staged_artifact


@dataclass(frozen=True, slots=True)
class StagedArtifact:
    id: int
    entry: Entry
    # Whose packs hold its content.
    owner: str


@dataclass(frozen=True, slots=True)
class LooseArtifact:
    run_id: str
    path: str
    size: int
    key: str  # in the lake


def stage(tx: Connection, run_id: str, entries: Collection[Entry], *, owner: str, now: datetime) -> None:
    """The newest under a path takes the place of the one before."""
    for batch in batches(entries):
        paths = [entry.path.decode() for entry in batch]
        tx.execute(_staged.delete().where(_staged.c.run_id == run_id, _staged.c.path.in_(paths)))
        rows = [{**_values(entry), "run_id": run_id, "owner": owner, "staged_at": now} for entry in batch]
        tx.execute(_staged.insert(), rows)


def staged(tx: Connection, run_id: str) -> Sequence[StagedArtifact]:
    """Oldest first."""
    query = select(_staged).where(_staged.c.run_id == run_id).order_by(_staged.c.id)
    return [_artifact(row) for row in tx.execute(query)]


def staged_paths(tx: Connection, run_id: str) -> set[bytes]:
    return {path.encode() for path in tx.scalars(select(_staged.c.path).where(_staged.c.run_id == run_id))}


def unstage(tx: Connection, ids: Collection[int]) -> None:
    for batch in batches(ids):
        tx.execute(_staged.delete().where(_staged.c.id.in_(batch)))


def is_waiting(tx: Connection, run_id: str) -> bool:
    """True if the run has artifacts that no commit of its holds yet."""
    here = select(_staged.c.id).where(_staged.c.run_id == run_id)
    loose = select(loose_artifact.c.run_id).where(loose_artifact.c.run_id == run_id)
    return bool(tx.scalar(select(exists(here) | exists(loose))))


def runs_with_staged(tx: Connection, *, project_id: str | None = None, limit: int) -> Sequence[str]:
    """Ids of the runs that have staged artifacts."""
    query = select(_staged.c.run_id).distinct().order_by(_staged.c.run_id).limit(limit)
    if project_id is not None:
        query = query.join(run, run.c.id == _staged.c.run_id).where(run.c.project_id == project_id)
    return tx.scalars(query).all()


def runs_with_loose(tx: Connection, *, limit: int) -> Sequence[str]:
    query = select(loose_artifact.c.run_id).distinct().order_by(loose_artifact.c.run_id).limit(limit)
    return tx.scalars(query).all()


def loose(tx: Connection, run_id: str) -> Sequence[LooseArtifact]:
    columns = (loose_artifact.c.run_id, loose_artifact.c.path, loose_artifact.c.size, loose_artifact.c.key)
    query = select(*columns).where(loose_artifact.c.run_id == run_id).order_by(loose_artifact.c.path)
    return [LooseArtifact(*row) for row in tx.execute(query)]


def forget_loose(tx: Connection, run_id: str, path: str) -> None:
    tx.execute(loose_artifact.delete().where(loose_artifact.c.run_id == run_id, loose_artifact.c.path == path))


def _values(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.path.decode(),
        "kind": entry.kind.value,
        "size": entry.size,
        "content": entry.content.value,
        "digest": entry.digest,
    }


def _artifact(row: Row[Any]) -> StagedArtifact:
    entry = Entry(row.path.encode(), Kind(row.kind), row.size, Content(row.content), row.digest)
    return StagedArtifact(row.id, entry, row.owner)
