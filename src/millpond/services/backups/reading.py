"""Opens a backup and reads it through: every byte against its digest, every row against the table it belongs to."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from millpond.blobs.store import BlobStore
from millpond.db.table_rows import Kind, TableColumns
from millpond.errors import Corrupt, Forbidden, NotFound
from millpond.services.backups import archive
from millpond.services.backups.archive import Member
from millpond.services.backups.encryption import Keys, keys_for
from millpond.services.backups.manifest import Manifest, decode, mac_of, manifest_key
from millpond.services.backups.parts import PartReader


@dataclass(frozen=True, slots=True)
class OpenBackup:
    store: BlobStore
    manifest: Manifest
    keys: Keys | None


@dataclass(frozen=True, slots=True)
class Contents:
    """`contents.json`: the server that was backed up, and its tables."""

    revision: str
    database: str
    lake_id: str | None
    lake_url: str
    has_default_lake: bool
    data_dir: str
    numbers: Mapping[str, int]
    tables: Mapping[str, TableColumns]


@dataclass(frozen=True, slots=True)
class FilePiece:
    name: str
    offset: int
    data: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class Rows:
    table: TableColumns
    rows: list[list[Any]]


@dataclass
class _Counted:
    rows: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)


def load_manifest(store: BlobStore, backup_id: str) -> Manifest:
    """NotFound for a backup that is not there, or not complete."""
    try:
        return decode(store.get(manifest_key(backup_id)))
    except NotFound as error:
        raise NotFound(f"There is no complete backup {backup_id}.", hint="See: mill backup list") from error


def open_backup(store: BlobStore, backup_id: str, passphrase: str | None) -> OpenBackup:
    """Forbidden for a wrong passphrase, and for one that is not needed: whoever can write to the place could put a
    backup of their own there, which needs none. Corrupt for a `backup.json` that was changed since."""
    manifest = load_manifest(store, backup_id)
    if manifest.encryption is None:
        if passphrase is not None:
            raise Forbidden(
                f"Backup {backup_id} is not encrypted, so the passphrase does not show that it is yours.",
                hint="If you made it without a passphrase, leave --passphrase-file out.",
            )
        return OpenBackup(store, manifest, None)
    keys = keys_for(manifest.encryption, passphrase)
    if not hmac.compare_digest(mac_of(manifest, keys.mac), manifest.mac or ""):
        raise Corrupt(f"backup.json of {backup_id} was changed since it was made.", hint="Choose another backup.")
    return OpenBackup(store, manifest, keys)


def read_through(opened: OpenBackup) -> Iterator[Contents | FilePiece | Rows]:
    """Pieces of files, the contents, and rows by table. Corrupt, at its end at the latest, if anything is missing."""
    counted, contents, is_complete = _Counted(), None, False
    for member in archive.members(PartReader(opened.store, opened.manifest, opened.keys)):
        if is_complete:
            raise Corrupt("The backup goes on behind its end.")
        if member.name == archive.CONTENTS:
            contents = _contents(member)
            counted.rows = dict.fromkeys(contents.tables, 0)
            yield contents
        elif member.name.startswith(archive.FILES):
            name = member.name.removeprefix(archive.FILES)
            counted.files[name] = counted.files.get(name, 0) + len(member.data)
            yield FilePiece(name, member.offset, member.data, member.mode)
        elif member.name.startswith(archive.TABLES) and contents is not None:
            found = _rows(member, contents)
            counted.rows[found.table.name] += len(found.rows)
            yield found
        elif member.name == archive.COUNTS and contents is not None:
            _compare(member, counted)
            is_complete = True
        else:
            raise Corrupt(f"The backup holds {member.name[:200]!r}, which no backup does.")
    if not is_complete:
        raise Corrupt("The backup ends early.", hint="Choose another backup.")


def _contents(member: Member) -> Contents:
    said = member.document()
    try:
        tables = [
            TableColumns(one["name"], tuple((name, Kind(kind)) for name, kind in one["columns"]))
            for one in said["tables"]
        ]
        return Contents(
            revision=said["revision"],
            database=said["database"],
            lake_id=said["lake"]["id"],
            lake_url=said["lake"]["url"],
            has_default_lake=bool(said["lake"]["is_default"]),
            data_dir=said["data_dir"],
            numbers={name: int(number) for name, number in said["numbers"].items()},
            tables={table.name: table for table in tables},
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Corrupt(f"{member.name} of the backup is not as the format says: {error!r}.") from error


def _rows(member: Member, contents: Contents) -> Rows:
    name = member.name.removeprefix(archive.TABLES).partition("/")[0]
    table = contents.tables.get(name)
    if table is None:
        raise Corrupt(f"The backup holds rows of {name[:100]!r}, a table it does not describe.")
    try:
        rows = [json.loads(line) for line in member.data.splitlines()]
    except ValueError as error:
        raise Corrupt(f"{member.name} of the backup is not JSON.") from error
    if any(not isinstance(row, list) or len(row) != len(table.columns) for row in rows):
        raise Corrupt(f"{member.name} of the backup has rows that do not fit table {name}.")
    return Rows(table, rows)


def _compare(member: Member, counted: _Counted) -> None:
    said = member.document()
    if said.get("rows") != counted.rows or said.get("files") != counted.files:
        raise Corrupt("The backup does not hold the rows and files that it counts.", hint="Choose another backup.")
