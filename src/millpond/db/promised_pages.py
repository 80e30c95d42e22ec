"""Pages that may lie in the lake although no accepted commit has them, and objects that are to be removed.

A page is promised before its URL is given, and doomed before it is removed: no object is without a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from millpond.db.batches import batches
from millpond.db.insert import insert_missing
from millpond.db.tables import doomed_object, pack, page, page_pack, promised_page
from millpond.model.dataset import PackState
from millpond.model.ids import new_id


@dataclass(frozen=True, slots=True)
class DoomedObject:
    key: str
    project_id: str
    doomed_at: datetime

    @property
    def is_prefix(self) -> bool:
        return self.key.endswith("/")


def promise(tx: Connection, project_id: str, page_ids: Collection[str], now: datetime) -> None:
    """These pages may come. One that was promised before keeps its token and is as fresh as a new one."""
    rows = [
        {"project_id": project_id, "id": bytes.fromhex(page_id), "token": new_id(20), "promised_at": now}
        for page_id in page_ids
    ]
    if not rows:
        return
    insert = (sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert)(promised_page)
    key = [promised_page.c.project_id, promised_page.c.id]
    tx.execute(insert.on_conflict_do_update(index_elements=key, set_={"promised_at": now}), rows)


def tokens(tx: Connection, project_id: str, page_ids: Iterable[str]) -> Mapping[str, str]:
    """The token of each of these pages that is promised."""
    found: dict[str, str] = {}
    for batch in batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        query = select(promised_page.c.id, promised_page.c.token)
        query = query.where(promised_page.c.project_id == project_id, promised_page.c.id.in_(ids))
        found.update({row.id.hex(): row.token for row in tx.execute(query)})
    return found


def fulfil(tx: Connection, project_id: str, page_ids: Iterable[str]) -> None:
    """These pages belong to an accepted commit now."""
    for batch in batches(page_ids):
        ids = [bytes.fromhex(page_id) for page_id in batch]
        tx.execute(promised_page.delete().where(promised_page.c.project_id == project_id, promised_page.c.id.in_(ids)))


def stale(
    tx: Connection, project_id: str, *, before: datetime, limit: int, after: bytes = b"", only: Collection[bytes] = ()
) -> Sequence[bytes]:
    """Pages promised before a moment, in the order of ids behind `after`; of these alone, if some are given."""
    query = select(promised_page.c.id).where(
        promised_page.c.project_id == project_id, promised_page.c.promised_at <= before, promised_page.c.id > after
    )
    if only:
        query = query.where(promised_page.c.id.in_(only))
    return tx.scalars(query.order_by(promised_page.c.id).limit(limit)).all()


def forget(tx: Connection, project_id: str, page_ids: Sequence[bytes]) -> None:
    """Nothing is known of these pages any more: not as parts of commits, not as promised, not what they need."""
    for batch in batches(page_ids):
        for table, column in ((page, page.c.id), (promised_page, promised_page.c.id), (page_pack, page_pack.c.page_id)):
            tx.execute(table.delete().where(table.c.project_id == project_id, column.in_(batch)))


def doom(tx: Connection, project_id: str, keys: Iterable[str], now: datetime) -> None:
    """Nothing names these objects any more, nor will it before they are removed."""
    insert_missing(tx, doomed_object, [{"key": key, "project_id": project_id, "doomed_at": now} for key in keys])


def forget_all(tx: Connection, project_id: str) -> None:
    """Nothing is known any more of a project's pages and packs, nor that some pages were to be removed."""
    for table in (page_pack, page, promised_page, pack):
        tx.execute(table.delete().where(table.c.project_id == project_id))
    pages = or_(*(doomed_object.c.key.like(f"projects/{project_id}/{kind}/%") for kind in ("pages", "locators")))
    tx.execute(doomed_object.delete().where(doomed_object.c.project_id == project_id, pages))


def doomed_below(tx: Connection, prefix: str) -> bool:
    """True if objects below the prefix are to be removed, or all of a prefix that holds it."""
    keys = doomed_object.c.key
    parts = prefix.split("/")
    above = ["/".join(parts[:n]) + "/" for n in range(1, len(parts))]
    query = select(keys).where(or_(keys.in_(above), and_(keys > prefix, keys < f"{prefix[:-1]}0")))
    return tx.execute(query.limit(1)).first() is not None


def doomed_among(tx: Connection, keys: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for batch in batches(keys):
        found.update(tx.scalars(select(doomed_object.c.key).where(doomed_object.c.key.in_(batch))))
    return found


def doomed_projects(tx: Connection) -> set[str]:
    """Projects that objects are to be removed from."""
    deleting = select(pack.c.project_id).where(pack.c.state == PackState.DELETING.value).distinct()
    return {*tx.scalars(select(doomed_object.c.project_id).distinct()), *tx.scalars(deleting)}


def doomed(tx: Connection, *, limit: int, after: str = "", besides: Collection[str] = ()) -> Sequence[DoomedObject]:
    """By key, behind `after`; not those of the projects `besides`."""
    query = select(doomed_object).where(doomed_object.c.key > after).order_by(doomed_object.c.key).limit(limit)
    if besides:
        query = query.where(doomed_object.c.project_id.not_in(besides))
    return [DoomedObject(row.key, row.project_id, row.doomed_at) for row in tx.execute(query)]


def removed(tx: Connection, keys: Collection[str]) -> None:
    """These objects are in the lake no more."""
    tx.execute(doomed_object.delete().where(doomed_object.c.key.in_(keys)))
