"""Which database may write to the lake. A server with another database refuses until it is told to take over."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from millpond.blobs.store import BlobStore
from millpond.db import server
from millpond.db.engine import Database
from millpond.errors import Conflict, NotFound, SetupError
from millpond.lake import keys
from millpond.lake.records import OwnerRecord, decode_lake, decode_owner, encode_lake, encode_owner
from millpond.model.ids import new_id


@dataclass(frozen=True, slots=True)
class Ownership:
    """The lake is ours since owner record `epoch`. `is_new` until the database was compared with the lake since."""

    lake_id: str
    epoch: int
    is_new: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A lake as it lies there: its id, and the database that owns it."""

    lake_id: str
    owner: str | None


def look(store: BlobStore) -> Seen:
    """Without writing anything. NotFound for a place without a lake."""
    _, owner = _newest_owner(store)
    return Seen(decode_lake(store.get(keys.LAKE)), owner.database if owner is not None else None)


def claim(db: Database, store: BlobStore, now: datetime) -> Ownership:
    """Make sure that this database owns the lake; a lake without an owner gets this one."""
    row = _server_row(db)
    lake_id = _lake_id(store, row.lake_id)
    epoch, owner = _newest_owner(store)
    if owner is None:
        _put_once(store, keys.owner(0), encode_owner(OwnerRecord(row.database_id, now)))
        epoch, owner = _newest_owner(store)
    if owner is None or owner.database != row.database_id:
        raise SetupError(
            f"This lake belongs to another server: its database is {owner.database if owner else 'unknown'}, "
            f"ours is {row.database_id} (owner record {epoch}).",
            hint="If that server is gone for good: mill lake take-over. Otherwise choose another --lake.",
        )
    if row.lake_id is None:
        if epoch > 0:  # whoever takes over is given the lake's id at once; a reindex only at its end
            raise SetupError("Reading the lake into this database was cut off.", hint="Run `mill lake reindex` again.")
        with db.write() as tx:
            server.set_lake(tx, lake_id)
    return Ownership(lake_id, epoch, is_new=row.epoch != epoch)


def settled(db: Database, ownership: Ownership) -> None:
    """Note that the database was compared with the lake since it owns it."""
    if ownership.is_new:
        with db.write() as tx:
            server.set_epoch(tx, ownership.epoch)


def take_over(db: Database, store: BlobStore, now: datetime) -> str | None:
    """Make this database the lake's owner; the id of the one that was, None when it was ours or nobody's.

    The server that was the owner stops writing within `fence.SETTLE_SECONDS`.
    """
    previous = become_owner(db, store, now)
    with db.write() as tx:
        server.set_lake(tx, _lake_id(store, None))
    return previous


def become_owner(db: Database, store: BlobStore, now: datetime) -> str | None:
    """Write the owner record alone: the database does not belong to the lake yet, and no server starts on it."""
    row = _server_row(db)
    _lake_id(store, None)
    number, owner = _newest_owner(store)
    if owner is not None and owner.database == row.database_id:
        return None
    # 0 is for a lake that begins with its owner: a database that only then comes to hold what is there is told apart.
    _put_once(store, keys.owner(max(number + 1, 1)), encode_owner(OwnerRecord(row.database_id, now)))
    return owner.database if owner is not None else None


def reindexed(db: Database, store: BlobStore) -> None:
    """The database now holds what the lake does. SetupError if yet another server took the lake over meanwhile."""
    epoch, owner = _newest_owner(store)
    if owner is None or owner.database != _server_row(db).database_id:
        raise SetupError("Another server took the lake over while it was read.", hint="Make sure that only one does.")
    with db.write() as tx:
        server.set_lake(tx, _lake_id(store, None))
        server.set_epoch(tx, epoch)


def _server_row(db: Database) -> server.ServerRow:
    with db.read() as tx:
        row = server.get(tx)
    if row is None:
        raise SetupError("This database has not been set up.", hint="Run `mill up` once.")
    return row


def _lake_id(store: BlobStore, expected: str | None) -> str:
    """The id in `millpond.json`, which is written if it is missing. SetupError when it is not the expected one."""
    try:
        found = decode_lake(store.get(keys.LAKE))
    except NotFound:
        if expected is not None:
            raise SetupError(
                f"The lake is empty, but this database belongs to lake {expected}.",
                hint="Check --lake and --data-dir: the lake was moved or deleted.",
            ) from None
        found = new_id(20)
        _put_once(store, keys.LAKE, encode_lake(found))
        # Another server may have been quicker: what lies there now counts.
        found = decode_lake(store.get(keys.LAKE))
    if expected is not None and found != expected:
        raise SetupError(
            f"This is lake {found}, but the database belongs to lake {expected}.",
            hint="Check --lake and --data-dir. To use this lake from now on: mill lake take-over",
        )
    return found


def _put_once(store: BlobStore, key: str, data: bytes) -> None:
    with suppress(Conflict):  # another server was quicker; the caller reads what lies there
        store.put(key, data, if_absent=True)


def _newest_owner(store: BlobStore) -> tuple[int, OwnerRecord | None]:
    newest = None
    for info in store.list(keys.OWNERS):
        newest = info.key
    if newest is None:
        return -1, None
    return keys.record_number(newest), decode_owner(store.get(newest))
