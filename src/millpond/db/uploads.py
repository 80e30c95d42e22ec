"""Uploads and the packs promised to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, or_, select

from millpond.db.batches import batches
from millpond.db.tables import blob, pack, upload
from millpond.model.dataset import PackState, Upload


@dataclass(frozen=True, slots=True)
class Pack:
    id: str
    project_id: str
    upload_id: str | None
    owner: str
    state: PackState
    bytes: int
    promised_at: datetime
    verified_at: datetime | None
    problem: str | None = None

    @property
    def is_present(self) -> bool:
        """As PRESENT."""
        return self.state in (PackState.LIVE, PackState.CONDEMNED) and self.problem is None

    def is_usable_by(self, owner: str) -> bool:
        """As `usable_by`."""
        return self.is_present and (self.verified_at is not None or self.owner == owner)


# Lies in the lake and is not bad. Condemned ones too: a commit that uses them makes them live again.
PRESENT = and_(pack.c.state.in_((PackState.LIVE.value, PackState.CONDEMNED.value)), pack.c.problem.is_(None))


def usable_by(owner: str) -> ColumnElement[bool]:
    """The rule of services/commits/packs/trust.py: verified packs are everybody's, others their uploader's alone."""
    return and_(PRESENT, or_(pack.c.verified_at.is_not(None), pack.c.owner == owner))


def insert(tx: Connection, value: Upload) -> None:
    tx.execute(
        upload.insert().values(
            id=value.id,
            project_id=value.project_id,
            owner=value.owner,
            created_at=value.created_at,
            used_at=value.used_at,
        )
    )


def get(tx: Connection, upload_id: str) -> Upload | None:
    row = tx.execute(select(upload).where(upload.c.id == upload_id)).first()
    return Upload(row.id, row.project_id, row.owner, row.created_at, row.used_at) if row else None


def touch(tx: Connection, upload_id: str, now: datetime) -> bool:
    """Whether it is still there: one that nobody used for long is forgotten."""
    return tx.execute(upload.update().where(upload.c.id == upload_id).values(used_at=now)).rowcount > 0


def holding(tx: Connection, project_id: str, digests: Sequence[bytes]) -> set[str]:
    """The uploads that brought packs with these blobs."""
    query = select(pack.c.upload_id).join(blob, blob.c.pack_id == pack.c.id).distinct()
    key = (blob.c.project_id == project_id) & pack.c.upload_id.is_not(None)
    batched = (tx.scalars(query.where(key, blob.c.digest.in_(batch))) for batch in batches(digests))
    return {upload_id for found in batched for upload_id in found}


def promise_packs(
    tx: Connection, value: Upload, pack_ids: Sequence[str], *, sizes: Sequence[int] = (), now: datetime
) -> None:
    """Rows before URLs: an object that no row names cannot come into being. Their `sizes`, as far as they are known."""
    rows = [
        {
            "id": pack_id,
            "project_id": value.project_id,
            "upload_id": value.id,
            "owner": value.owner,
            "state": PackState.PROMISED.value,
            "bytes": size,
            "blobs": 0,
            "promised_at": now,
        }
        for pack_id, size in zip_longest(pack_ids, sizes, fillvalue=0)
    ]
    tx.execute(pack.insert(), rows)


def promised_bytes(tx: Connection, pack_ids: Sequence[str]) -> Mapping[str, int]:
    """What is counted of these packs already, as long as they are only promised."""
    promised = pack.c.id.in_(pack_ids) & (pack.c.state == PackState.PROMISED.value)
    return {row.id: row.bytes for row in tx.execute(select(pack.c.id, pack.c.bytes).where(promised))}


def insert_found(
    tx: Connection, project_id: str, pack_id: str, owner: str, size: int, blobs: int, now: datetime
) -> None:
    """A pack that lies in the lake, though no upload is known that brought it."""
    values = {"owner": owner, "state": PackState.LIVE.value, "bytes": size, "blobs": blobs, "promised_at": now}
    tx.execute(pack.insert().values(id=pack_id, project_id=project_id, **values))


def packs(tx: Connection, project_id: str, pack_ids: Collection[str]) -> Sequence[Pack]:
    """Those of these packs that belong to the project."""
    found: list[Pack] = []
    for batch in batches(pack_ids):
        query = select(pack).where(pack.c.id.in_(batch), pack.c.project_id == project_id)
        found.extend(_pack(row) for row in tx.execute(query))
    return found


def make_live(tx: Connection, pack_id: str, *, size: int, blobs: int) -> bool:
    """Whether it was still promised: it becomes live once."""
    key = (pack.c.id == pack_id) & (pack.c.state == PackState.PROMISED.value)
    values = {"state": PackState.LIVE.value, "bytes": size, "blobs": blobs}
    return tx.execute(pack.update().where(key).values(**values)).rowcount > 0


def unverified(
    tx: Connection, *, limit: int, project_id: str | None = None, besides: str | None = None
) -> Sequence[Pack]:
    """Live packs that nobody has read yet, oldest first; of a project, and not of the owner `besides`."""
    query = select(pack).where(pack.c.state == PackState.LIVE.value, pack.c.verified_at.is_(None))
    if project_id is not None:
        query = query.where(pack.c.project_id == project_id)
    if besides is not None:
        query = query.where(pack.c.owner != besides)
    return [_pack(row) for row in tx.execute(query.order_by(pack.c.promised_at, pack.c.id).limit(limit))]


def unread_of_others(tx: Connection, project_id: str, owner: str) -> Sequence[Pack]:
    """Present packs that nobody has verified yet and `owner` did not bring."""
    unread = and_(PRESENT, pack.c.verified_at.is_(None), pack.c.owner != owner)
    return [_pack(row) for row in tx.execute(select(pack).where(pack.c.project_id == project_id, unread))]


def is_any_usable(tx: Connection, project_id: str, owner: str) -> bool:
    query = select(pack.c.id).where(pack.c.project_id == project_id, usable_by(owner)).limit(1)
    return tx.execute(query).first() is not None


def is_any_in_use(tx: Connection, since: datetime) -> bool:
    """Whether anything was asked of any upload after that moment."""
    return tx.execute(select(upload.c.id).where(upload.c.used_at > since).limit(1)).first() is not None


def to_verify(
    tx: Connection, *, limit: int, promised_before: datetime | None, wanted: Collection[str]
) -> Sequence[Pack]:
    """Live packs that nobody has read yet, oldest first; with `promised_before` only older ones and those wanted."""
    unread = and_(pack.c.state == PackState.LIVE.value, pack.c.verified_at.is_(None))
    query = select(pack).where(unread)
    if promised_before is not None:
        query = query.where(or_(pack.c.promised_at <= promised_before, pack.c.id.in_(wanted)))
    return [_pack(row) for row in tx.execute(query.order_by(pack.c.promised_at, pack.c.id).limit(limit))]


def mark_verified(tx: Connection, pack_id: str, now: datetime) -> None:
    tx.execute(pack.update().where(pack.c.id == pack_id).values(verified_at=now))


def reject(tx: Connection, pack_id: str, problem: str, now: datetime) -> None:
    """It is not what it says: nobody builds on it any more. One that is being removed anyway stays so."""
    values = {"state": PackState.CONDEMNED.value, "condemned_at": now, "problem": problem}
    key = (pack.c.id == pack_id) & (pack.c.state != PackState.DELETING.value)
    tx.execute(pack.update().where(key).values(**values))


def revive(tx: Connection, pack_ids: Collection[str]) -> None:
    """Packs that a commit uses are live, whatever a collection thought of them."""
    for batch in batches(pack_ids):
        key = pack.c.id.in_(batch) & (pack.c.state == PackState.CONDEMNED.value) & pack.c.problem.is_(None)
        tx.execute(pack.update().where(key).values(state=PackState.LIVE.value, condemned_at=None))


def _pack(row: Row[Any]) -> Pack:
    return Pack(
        id=row.id,
        project_id=row.project_id,
        upload_id=row.upload_id,
        owner=row.owner,
        state=PackState(row.state),
        bytes=row.bytes,
        promised_at=row.promised_at,
        verified_at=row.verified_at,
        problem=row.problem,
    )
