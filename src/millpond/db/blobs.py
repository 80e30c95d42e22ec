"""Where the blobs of a project lie, which of its pages are known, and which packs each page needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, and_, or_, select

from millpond.db.insert import insert_missing
from millpond.db.tables import blob, pack, page, page_pack
from millpond.model.dataset import BlobPlace, PackState

# Well below the number of variables SQLite allows in one statement.
_BATCH = 5000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageRow:
    """What was checked of a page when it came (ids in hex)."""

    id: str
    level: int
    entries: int
    files: int
    size: int
    allocated: int
    first_path: bytes
    last_path: bytes


def insert_places(tx: Connection, project_id: str, places: Sequence[BlobPlace]) -> None:
    for batch in _batches(places):
        rows = [
            {
                "project_id": project_id,
                "digest": place.digest,
                "pack_id": place.pack_id,
                "offset": place.offset,
                "stored": place.stored,
                "raw": place.raw,
                "encoding": place.encoding,
            }
            for place in batch
        ]
        tx.execute(blob.insert(), rows)


def known(tx: Connection, project_id: str, digests: Iterable[bytes], *, owner: str) -> set[bytes]:
    """Those of these digests that `owner` may build on: in verified packs of the project, or in packs of its own."""
    found: set[bytes] = set()
    for batch in _batches(digests):
        query = select(blob.c.digest).join(pack, pack.c.id == blob.c.pack_id)
        found.update(tx.scalars(query.where(_usable(project_id, batch, owner))))
    return found


def places(tx: Connection, project_id: str, digests: Iterable[bytes], *, owner: str) -> dict[bytes, BlobPlace]:
    """Where they lie, for those that `owner` may build on; a verified place before another."""
    found: dict[bytes, BlobPlace] = {}
    for batch in _batches(digests):
        query = select(blob).join(pack, pack.c.id == blob.c.pack_id).where(_usable(project_id, batch, owner))
        for row in tx.execute(query.order_by(pack.c.verified_at.is_(None), blob.c.pack_id)):
            place = BlobPlace(row.digest, row.pack_id, row.offset, row.stored, row.raw, row.encoding)
            found.setdefault(row.digest, place)
    return found


def places_in(tx: Connection, pack_id: str) -> list[BlobPlace]:
    """Every blob of a pack."""
    rows = tx.execute(select(blob).where(blob.c.pack_id == pack_id))
    return [BlobPlace(row.digest, row.pack_id, row.offset, row.stored, row.raw, row.encoding) for row in rows]


def pages(tx: Connection, project_id: str, page_ids: Iterable[str]) -> dict[str, PageRow]:
    """The rows of those pages that the project has."""
    found: dict[str, PageRow] = {}
    for batch in _batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        for row in tx.execute(select(page).where(page.c.project_id == project_id, page.c.id.in_(ids))):
            found[row.id.hex()] = PageRow(
                id=row.id.hex(),
                level=row.level,
                entries=row.entries,
                files=row.files,
                size=row.bytes,
                allocated=row.allocated,
                first_path=row.first_path,
                last_path=row.last_path,
            )
    return found


def insert_pages(tx: Connection, project_id: str, rows: Sequence[PageRow]) -> None:
    """A page that another commit brought meanwhile is the same page."""
    values = [
        {
            "project_id": project_id,
            "id": bytes.fromhex(row.id),
            "level": row.level,
            "entries": row.entries,
            "files": row.files,
            "bytes": row.size,
            "allocated": row.allocated,
            "first_path": row.first_path,
            "last_path": row.last_path,
        }
        for row in rows
    ]
    insert_missing(tx, page, values)


def set_page_packs(tx: Connection, project_id: str, packs_of: Mapping[str, Collection[str]]) -> None:
    """Which packs the locator of each leaf names, in place of what was known before."""
    for page_id, packs in packs_of.items():
        key = {"project_id": project_id, "page_id": bytes.fromhex(page_id)}
        tx.execute(
            page_pack.delete().where(page_pack.c.project_id == project_id, page_pack.c.page_id == key["page_id"])
        )
        insert_missing(tx, page_pack, [key | {"pack_id": pack_id} for pack_id in sorted(packs)])


def packs_of_pages(tx: Connection, project_id: str, page_ids: Iterable[str]) -> Mapping[str, set[str]]:
    """The packs of each of these leaves."""
    found: dict[str, set[str]] = defaultdict(set)
    for batch in _batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        query = select(page_pack).where(page_pack.c.project_id == project_id, page_pack.c.page_id.in_(ids))
        for row in tx.execute(query):
            found[row.page_id.hex()].add(row.pack_id)
    return found


def pages_on_pack(tx: Connection, pack_id: str) -> Sequence[str]:
    return [page_id.hex() for page_id in tx.scalars(select(page_pack.c.page_id).where(page_pack.c.pack_id == pack_id))]


def forget_pages(tx: Connection, project_id: str, page_ids: Collection[str]) -> None:
    """Forget these leaves and every index page of the project: any of those may stand above one of them."""
    if not page_ids:
        return
    for batch in _batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        tx.execute(page.delete().where(page.c.project_id == project_id, page.c.id.in_(ids)))
    tx.execute(page.delete().where(page.c.project_id == project_id, page.c.level > 0))


def _usable(project_id: str, digests: Sequence[bytes], owner: str) -> ColumnElement[bool]:
    return and_(
        blob.c.project_id == project_id,
        blob.c.digest.in_(digests),
        pack.c.state == PackState.LIVE.value,
        or_(pack.c.verified_at.is_not(None), pack.c.owner == owner),
    )


def _batches(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while batch := list(islice(rest, _BATCH)):
        yield batch
