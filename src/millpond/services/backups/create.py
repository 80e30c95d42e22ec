"""Makes a backup while the server runs: one moment of the database, with the server's keys and files."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table

from millpond import __version__
from millpond.blobs.local import LocalStore
from millpond.blobs.store import BlobStore
from millpond.db import migrate, server, table_rows
from millpond.db.engine import Database
from millpond.errors import DiskFull, MillError, NotFound, SetupError
from millpond.model.backup import Backup
from millpond.services.backups import archive
from millpond.services.backups.archive import ArchiveWriter
from millpond.services.backups.encryption import new_encryption
from millpond.services.backups.manifest import Manifest, encode, manifest_key, new_backup_id, part_key, signed
from millpond.services.backups.parts import PART_BYTES, PartWriter, PutPart
from millpond.settings import Settings

KEY_FILE = "keys/secret.key"
_UNSENT = ".backup-"
_STALE_SECONDS = 2 * 86_400


@dataclass(frozen=True, slots=True)
class WhatToBackUp:
    """A server: its database and, by the names they have in a backup, its files."""

    db: Database
    settings: Settings
    with_keys: bool = True
    # Called now and then with the number of rows of the current table.
    progress: Callable[[int], None] = field(default=lambda rows: None)

    @property
    def key_file(self) -> Path | None:
        return self.settings.secret_key if self.with_keys and self.settings.secret_key.is_file() else None

    @property
    def folders(self) -> Mapping[str, Path]:
        return {
            "logs": self.settings.logs_dir,
            "components": self.settings.components,
            "provisioners": self.settings.provisioners,
            "tiers": self.settings.tier_commands,
        }


def create(
    what: WhatToBackUp, store: BlobStore, *, passphrase: str | None, now: datetime, part_bytes: int = PART_BYTES
) -> Backup:
    """Make a backup in `store`. Others see all of it or nothing, whenever this ends; nothing there is overwritten."""
    backup_id = new_backup_id(now)
    said, keys = new_encryption(passphrase) if passphrase is not None else (None, None)
    try:
        with _receiving(store, backup_id, what.settings.data_dir) as put:
            sink = PartWriter(put, keys, part_bytes=part_bytes)
            backup = _write(what, sink, backup_id, now)
        size = sum(part.size for part in sink.parts)
        backup = replace(backup, bytes=size, is_encrypted=keys is not None)
        manifest = signed(Manifest(backup, sink.parts, said), keys.mac if keys is not None else None)
        store.put(manifest_key(backup_id), encode(manifest), if_absent=True)
    except BaseException as error:
        remove_parts(store, backup_id)
        if isinstance(error, DiskFull):
            raise DiskFull(
                f"No space left for the backup: {error.message}", hint="Free some space there, or keep fewer backups."
            ) from error
        raise
    return backup


def remove_parts(store: BlobStore, backup_id: str) -> None:
    """Of a backup that is not or no longer listed, as far as its place answers."""
    with suppress(MillError):
        for info in list(store.list(f"{backup_id}/")):
            store.delete(info.key)
    if isinstance(store, LocalStore):
        for folder in (store.root / backup_id / "data", store.root / backup_id):
            with suppress(OSError):
                folder.rmdir()


def _write(what: WhatToBackUp, sink: PartWriter, backup_id: str, now: datetime) -> Backup:
    writer = ArchiveWriter(sink, now)
    # Files first: what moves from the end of a log to the lake meanwhile is then known to the database that follows.
    files = _add_files(what, writer)
    with what.db.read() as tx:
        revision = migrate.current_revision(tx)
        row = server.get(tx) if revision is not None else None
        if revision is None or row is None:
            raise SetupError("There is no database to back up.", hint="Check --data-dir and --db.")
        tables = table_rows.tables_of(tx)
        described = [table_rows.describe(table) for table in tables]
        contents = {
            "created_at": now.isoformat(),
            "id": backup_id,
            "revision": revision,
            "engine": tx.dialect.name,
            "database": row.database_id,
            "lake": {"id": row.lake_id, "url": what.settings.lake, "is_default": what.settings.lake_url is None},
            "data_dir": str(what.settings.data_dir),
            "settings": shown_settings(what.settings),
            "numbers": dict(table_rows.next_numbers(tx, tables)),
            "tables": [
                {"name": one.name, "columns": [[name, kind.value] for name, kind in one.columns]} for one in described
            ],
        }
        writer.add_document(archive.CONTENTS, contents)
        counts = {table.name: 0 for table in tables}
        for table in tables:
            counts[table.name] = _add_table(tx, table, writer, what.progress)
    writer.add_document(archive.COUNTS, {"rows": counts, "files": files})
    writer.close()
    sink.finish()
    return Backup(
        id=backup_id,
        created_at=now,
        version=__version__,
        revision=revision,
        engine=what.db.engine.dialect.name,
        database=row.database_id,
        tables=len(counts),
        rows=sum(counts.values()),
        files=len(files),
        bytes=0,
        is_encrypted=False,
        has_keys=KEY_FILE in files,
    )


def _add_table(tx: Connection, table: Table, writer: ArchiveWriter, progress: Callable[[int], None]) -> int:
    """JSON Lines: a row is an array, in the order of the columns."""
    encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
    lines: list[str] = []
    rows = piece = size = 0
    for row in table_rows.rows_of(tx, table):
        line = encoder.encode(row)
        lines.append(line)
        rows, size = rows + 1, size + len(line)
        if size >= archive.PIECE_BYTES:
            writer.add(f"{archive.TABLES}{table.name}/{piece:06d}.jsonl", _joined(lines))
            piece, size = piece + 1, 0
            lines.clear()
            progress(rows)
    if lines:
        writer.add(f"{archive.TABLES}{table.name}/{piece:06d}.jsonl", _joined(lines))
        progress(rows)
    return rows


def _joined(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()


def _add_files(what: WhatToBackUp, writer: ArchiveWriter) -> dict[str, int]:
    """Sizes by name. What disappears meanwhile is left out: the end of a log that went to the lake."""
    found: dict[str, int] = {}
    for name, path in _files(what):
        with suppress(FileNotFoundError):
            found[name] = _add_file(writer, name, path)
    return found


def _add_file(writer: ArchiveWriter, name: str, path: Path) -> int:
    with open(path, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode & 0o777
        size = 0
        while (piece := file.read(archive.PIECE_BYTES)) or size == 0:
            writer.add(f"{archive.FILES}{name}", piece, offset=size, mode=mode)
            size += len(piece)
            if not piece:
                break
    return size


def _files(what: WhatToBackUp) -> Iterator[tuple[str, Path]]:
    if (key := what.key_file) is not None:
        yield KEY_FILE, key
    for name, folder in what.folders.items():
        for below, folders, names in os.walk(folder):
            folders[:] = sorted(one for one in folders if one not in ("locks", "__pycache__"))
            for one in sorted(names):
                path = Path(below) / one
                if path.is_file():
                    yield f"{name}/{path.relative_to(folder).as_posix()}", path


def shown_settings(settings: Settings) -> dict[str, Any]:
    """What the server was started with, without the address of its database: that may hold a password."""
    shown = {name: getattr(settings, name) for name in Settings.__dataclass_fields__ if name != "database_url"}
    return {name: str(value) if isinstance(value, Path) else value for name, value in shown.items()}


@contextmanager
def _receiving(store: BlobStore, backup_id: str, data_dir: Path) -> Iterator[PutPart]:
    """Where parts go while the database is read: straight into a directory; to a disk here for a store behind a
    network, which is not talked to within a transaction. Parts are in the store when the block ends."""
    if isinstance(store, LocalStore):
        with _disk_errors():
            for private in (store.root / ".unfinished", store.root / backup_id):
                private.mkdir(mode=0o700, parents=True, exist_ok=True)
                private.chmod(0o700)
        yield lambda number, data: store.put(part_key(backup_id, number), data)
        return
    _remove_unsent(data_dir)
    with _disk_errors(), tempfile.TemporaryDirectory(prefix=_UNSENT, dir=data_dir) as made:
        folder = Path(made)

        def keep(number: int, data: bytes) -> None:
            (folder / f"{number:06d}").write_bytes(data)

        yield keep
        for path in sorted(folder.iterdir()):
            store.put(part_key(backup_id, int(path.name)), path.read_bytes())
            path.unlink()


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"{error.filename} does not exist.") from error
    except OSError as error:
        raise DiskFull(f"{error.filename or 'a file'}: {error.strerror}.") from error


def _remove_unsent(data_dir: Path) -> None:
    """What a process that was killed left here long ago."""
    for path in data_dir.glob(f"{_UNSENT}*"):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
