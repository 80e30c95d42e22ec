"""Where the blobs of a project lie, which of its pages are known, and which packs each page needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeVar

from sqlalchemy import Connection, and_, bindparam, select

from millpond.db import lake_replica_content as replica_content
from millpond.db.batches import batches
from millpond.db.insert import insert_missing, insert_rows
from millpond.db.lookup import rows_in
from millpond.db.tables import blob, pack, page, page_pack
from millpond.db.uploads import usable_by
from millpond.model.dataset import BlobPlace, PackState, place_of


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
    # Names of the connections that external entries below it lie behind.
    external: frozenset[str] = frozenset()
    # How many files and directories it is on a disk; None where nobody has counted.
    inodes: int | None = None
    # What of `allocated` is directories.
    directory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Within:
    """Only blobs that some pack among `packs`, or one of these owners', holds; wherever else they lie, too."""

    packs: Set[str]
    owners: Set[str]


# As the fields of a BlobPlace follow each other, behind the project.
_PLACE_COLUMNS = (
    blob.c.project_id,
    blob.c.digest,
    blob.c.pack_id,
    blob.c.offset,
    blob.c.stored,
    blob.c.raw,
    blob.c.encoding,
)
_DIGEST = itemgetter(0)
# A row, or a BlobPlace: digest and pack are the first two of each.
Place = TypeVar("Place", bound=Any)
# Without what leaves hold by directory, which is larger than all the rest.
_PAGE_COLUMNS = [column for column in page.c if column.name not in ("project_id", "folders")]


def insert_places(tx: Connection, project_id: str, places: Sequence[BlobPlace]) -> None:
    # In the order of the table and its index: a large one is then gone through once, not looked up row by row.
    insert_rows(tx, _PLACE_COLUMNS, [(project_id, *place) for place in sorted(places, key=_DIGEST)])


def known(
    tx: Connection, project_id: str, digests: Iterable[bytes], *, owner: str, within: Within | None = None
) -> set[bytes]:
    """Those of these digests that `owner` may build on: in verified packs of the project, or in packs of its own."""
    found: set[bytes] = set()
    for batch in batches(digests):
        rows = rows_in(tx, (blob.c.digest, blob.c.pack_id), {blob.c.project_id: project_id}, blob.c.digest, batch)
        rows = _within(tx, rows, within)
        usable = _usable(tx, {pack_id for _, pack_id in rows}, owner)
        found.update(digest for digest, pack_id in rows if pack_id in usable)
    return found


def places(
    tx: Connection,
    project_id: str,
    digests: Iterable[bytes],
    *,
    owner: str,
    noted: Mapping[bytes, BlobPlace] = MappingProxyType({}),
    within: Within | None = None,
) -> dict[bytes, BlobPlace]:
    """Where they lie, for those that `owner` may build on: rather in a live pack, rather in a verified one.

    `noted` are places in packs of the project that are known already: only whether the packs may be used is asked then.
    """
    nearby = {place.digest: place for place in _within(tx, list(noted.values()), within)}
    usable = _usable(tx, {place.pack_id for place in nearby.values()}, owner)
    live = {pack_id for pack_id, (is_condemned, _, _) in usable.items() if not is_condemned}
    found = {digest: place for digest, place in nearby.items() if place.pack_id in live}
    for batch in batches(digest for digest in digests if digest not in found):
        rows = rows_in(tx, _PLACE_COLUMNS[1:], {blob.c.project_id: project_id}, blob.c.digest, batch)
        rows = _within(tx, rows, within)
        usable = _usable(tx, {row[1] for row in rows}, owner)
        there = [place_of(row) for row in rows if row[1] in usable]
        best = {place.digest: place for place in there}
        if len(best) < len(there):  # some lie in several packs: the best one comes last, and stays
            there.sort(key=lambda place: usable[place.pack_id], reverse=True)
            best = {place.digest: place for place in there}
        found.update(best)
    return found


def places_in(tx: Connection, pack_id: str) -> list[BlobPlace]:
    """Every blob of a pack."""
    rows = tx.execute(select(blob).where(blob.c.pack_id == pack_id))
    return [BlobPlace(row.digest, row.pack_id, row.offset, row.stored, row.raw, row.encoding) for row in rows]


def digests_in(tx: Connection, pack_ids: Collection[str], *, limit: int) -> Sequence[bytes]:
    """Some of the blobs of these packs."""
    return tx.scalars(select(blob.c.digest).where(blob.c.pack_id.in_(pack_ids)).limit(limit)).all()


def pages(tx: Connection, project_id: str, page_ids: Iterable[str]) -> dict[str, PageRow]:
    """The rows of those pages that the project has."""
    found: dict[str, PageRow] = {}
    for batch in batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        query = select(*_PAGE_COLUMNS).where(page.c.project_id == project_id, page.c.id.in_(ids))
        for row in tx.execute(query):
            found[row.id.hex()] = PageRow(
                id=row.id.hex(),
                level=row.level,
                entries=row.entries,
                files=row.files,
                size=row.bytes,
                allocated=row.allocated,
                first_path=row.first_path,
                last_path=row.last_path,
                external=frozenset(row.external.split()),
                inodes=row.inodes,
                directory_bytes=row.directory_bytes,
            )
    return found


def external_names(tx: Connection, project_id: str) -> set[str]:
    """The connections that external entries of the project's commits lie behind."""
    query = select(page.c.external).where(page.c.project_id == project_id, page.c.external != "").distinct()
    return {name for names in tx.scalars(query) for name in names.split()}


def folders(tx: Connection, project_id: str, leaf_ids: Iterable[str]) -> dict[str, bytes]:
    """What was noted of these leaves by `insert_pages` or `note_folders`."""
    found: dict[str, bytes] = {}
    for batch in batches(leaf_ids):
        ids = [bytes.fromhex(leaf_id) for leaf_id in batch]
        key = and_(page.c.project_id == project_id, page.c.id.in_(ids), page.c.folders.is_not(None))
        found.update({row.id.hex(): row.folders for row in tx.execute(select(page.c.id, page.c.folders).where(key))})
    return found


def note_folders(tx: Connection, project_id: str, noted: Mapping[str, bytes]) -> None:
    """For leaves that came before this was noted."""
    statement = page.update().where(page.c.project_id == project_id, page.c.id == bindparam("leaf"))
    tx.execute(
        statement.values(folders=bindparam("held")),
        [{"leaf": bytes.fromhex(leaf_id), "held": held} for leaf_id, held in noted.items()],
    )


def insert_pages(
    tx: Connection, project_id: str, rows: Sequence[PageRow], noted: Mapping[str, bytes] = MappingProxyType({})
) -> None:
    """A page that another commit brought meanwhile is the same page. `noted` is what leaves hold by directory."""
    values = [
        {
            "project_id": project_id,
            "id": bytes.fromhex(row.id),
            "level": row.level,
            "entries": row.entries,
            "files": row.files,
            "bytes": row.size,
            "allocated": row.allocated,
            "inodes": row.inodes,
            "directory_bytes": row.directory_bytes,
            "first_path": row.first_path,
            "last_path": row.last_path,
            "external": " ".join(sorted(row.external)),
            "folders": noted.get(row.id),
        }
        for row in rows
    ]
    insert_missing(tx, page, values)


def add_page_packs(tx: Connection, project_id: str, packs_of: Mapping[str, Collection[str]]) -> None:
    """Packs that a locator of each leaf names, or soon may: they are kept as long as the leaf is.

    Beside those known before: two who commit the same leaf write the same locator, and either may come last.
    """
    rows = [
        {"project_id": project_id, "page_id": bytes.fromhex(page_id), "pack_id": pack_id}
        for page_id, packs in packs_of.items()
        for pack_id in sorted(packs)
    ]
    for batch in batches(rows):
        insert_missing(tx, page_pack, batch)


def drop_bad_packs(tx: Connection, project_id: str, page_ids: Iterable[str]) -> None:
    """These leaves have been checked anew: they do not rest on bad packs any more."""
    bad = select(pack.c.id).where(pack.c.project_id == project_id, pack.c.problem.is_not(None))
    for batch in batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        key = and_(page_pack.c.project_id == project_id, page_pack.c.page_id.in_(ids))
        tx.execute(page_pack.delete().where(key, page_pack.c.pack_id.in_(bad)))
        replica_content.forget_pages(tx, project_id, ids)


def packs_of_pages(tx: Connection, project_id: str, page_ids: Iterable[str]) -> Mapping[str, set[str]]:
    """The packs of each of these leaves."""
    found: dict[str, set[str]] = defaultdict(set)
    for batch in batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        query = select(page_pack).where(page_pack.c.project_id == project_id, page_pack.c.page_id.in_(ids))
        for row in tx.execute(query):
            found[row.page_id.hex()].add(row.pack_id)
    return found


def packs_holding(tx: Connection, project_id: str, digests: Iterable[bytes]) -> set[str]:
    """The packs of the project that hold any of these blobs."""
    key = {blob.c.project_id: project_id}
    return {
        pack_id
        for batch in batches(digests)
        for (pack_id,) in rows_in(tx, (blob.c.pack_id,), key, blob.c.digest, batch)
    }


def pages_on_pack(tx: Connection, pack_id: str) -> Sequence[str]:
    return [page_id.hex() for page_id in tx.scalars(select(page_pack.c.page_id).where(page_pack.c.pack_id == pack_id))]


def forget_pages(tx: Connection, project_id: str, page_ids: Collection[str]) -> Sequence[str]:
    """Forget these leaves and every index page of the project: any of those may stand above one of them.

    The ids of what is forgotten. The pages themselves are still in the lake.
    """
    if not page_ids:
        return ()
    indexes = tx.scalars(select(page.c.id).where(page.c.project_id == project_id, page.c.level > 0)).all()
    for batch in batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        tx.execute(page.delete().where(page.c.project_id == project_id, page.c.id.in_(ids)))
    tx.execute(page.delete().where(page.c.project_id == project_id, page.c.level > 0))
    return [*page_ids, *(page_id.hex() for page_id in indexes)]


def _usable(tx: Connection, pack_ids: Collection[str], owner: str) -> dict[str, tuple[bool, bool, str]]:
    """Those of these packs that `owner` may build on, with a rank: the least is the best.

    Looked up beside the blobs, not joined with them: there are thousands of blobs for each pack.
    """
    ranks: dict[str, tuple[bool, bool, str]] = {}
    for batch in batches(pack_ids):
        query = select(pack.c.id, pack.c.state, pack.c.verified_at.is_(None).label("unread"))
        for row in tx.execute(query.where(pack.c.id.in_(batch), usable_by(owner))):
            ranks[row.id] = row.state == PackState.CONDEMNED.value, bool(row.unread), row.id
    return ranks


def _within(tx: Connection, rows: Sequence[Place], within: Within | None) -> Sequence[Place]:
    """Without the blobs that are not within it. Each row begins with digest and pack."""
    if within is None:
        return rows
    allowed = {row[1] for row in rows if row[1] in within.packs}
    for batch in batches({row[1] for row in rows} - allowed):
        own = pack.c.id.in_(batch) & pack.c.owner.in_(within.owners)
        allowed.update(tx.scalars(select(pack.c.id).where(own)))
    digests = {row[0] for row in rows if row[1] in allowed}
    return [row for row in rows if row[0] in digests]
