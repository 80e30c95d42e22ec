"""Where backups lie: a directory or an object store with a folder for each. Lists, finds and removes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from logging import getLogger
from pathlib import Path

from millpond.blobs.location import Location, open_store
from millpond.blobs.store import BlobStore
from millpond.errors import BadFormat, BadRequest, MillError, NotFound, SetupError
from millpond.model.backup import Backup
from millpond.services.backups.create import remove_parts
from millpond.services.backups.manifest import ID, decode, manifest_key

logger = getLogger(__name__)

# Parts without `backup.json` that are older were left by a process that was killed.
_STALE = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class BackupPlace:
    """An open place, as it was written."""

    written: str
    store: BlobStore


def open_place(written: str, *, must_exist: bool = False) -> BackupPlace:
    """SetupError for a place that cannot be used; NotFound for a directory that is not there, where it must be."""
    try:
        location = Location.parse(written)
    except BadRequest as error:
        raise BadRequest(
            f"{written!r} is no place for backups.", hint="Write a directory, or s3://bucket/prefix?endpoint=…"
        ) from error
    if location.scheme == "file" and must_exist and not Path(location.prefix).is_dir():
        raise NotFound(f"There is no directory {location.prefix}.")
    try:
        return BackupPlace(written, open_store(written))
    except SetupError as error:
        cause = str(getattr(error.__cause__, "strerror", None) or error.message)
        raise SetupError(f"Cannot use {written} for backups: {cause}.", hint="Choose another place.") from error


def find_backup(written: str) -> tuple[BackupPlace, str]:
    """A backup by its place with its id behind it, or the newest of a place."""
    path, mark, options = written.partition("?") if "://" in written else (written, "", "")
    above, _, last = path.rstrip("/").rpartition("/")
    if ID.fullmatch(last):
        return open_place(f"{above or '.'}{mark}{options}", must_exist=True), last
    place = open_place(written, must_exist=True)
    found = list_backups(place.store)
    if not found:
        raise NotFound(f"There is no complete backup in {written}.", hint="See: mill backup list PLACE")
    return place, found[0].id


def list_backups(store: BlobStore) -> Sequence[Backup]:
    """Complete ones, newest first. What cannot be read is left out and logged."""
    found = []
    for backup_id in ids_in(store):
        try:
            found.append(decode(store.get(manifest_key(backup_id))).backup)
        except NotFound:
            continue  # not complete, or just removed
        except (BadFormat, SetupError) as error:
            logger.warning("backup_unreadable id=%s reason=%s", backup_id, error.message)
    return sorted(found, key=lambda one: one.id, reverse=True)


def ids_in(store: BlobStore) -> Iterator[str]:
    """Without listing the parts of each: behind `<id>0`, since `0` follows the slash."""
    after: str | None = None
    while (info := next(iter(store.list("", after)), None)) is not None:
        name, slash, _ = info.key.partition("/")
        if slash and ID.fullmatch(name):
            yield name
        after = f"{name}0" if slash else info.key


def remove(store: BlobStore, backup_id: str) -> None:
    """`backup.json` first: a backup that is listed is whole."""
    store.delete(manifest_key(backup_id))
    remove_parts(store, backup_id)


def keep_newest(store: BlobStore, count: int, *, database: str, now: datetime) -> Sequence[str]:
    """Remove all but the newest `count` backups of a database, and what was left unfinished long ago."""
    removed = [one.id for one in [one for one in list_backups(store) if one.database == database][count:]]
    for backup_id in ids_in(store):
        if made_at(backup_id) < now - _STALE and store.head(manifest_key(backup_id)) is None:
            removed.append(backup_id)
    for backup_id in removed:
        try:
            remove(store, backup_id)
        except MillError as error:
            logger.warning("backup_not_removed id=%s reason=%s", backup_id, error.message)
    return removed


def made_at(backup_id: str) -> datetime:
    return datetime.strptime(backup_id.partition("-")[0], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
