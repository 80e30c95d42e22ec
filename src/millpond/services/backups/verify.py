"""Shows that a backup can be restored: every byte read, every digest compared, the database put together and opened."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from millpond.db import server, table_rows
from millpond.db.engine import Database
from millpond.errors import Corrupt
from millpond.model.backup import Backup
from millpond.services.backups.loading import load
from millpond.services.backups.reading import Contents, OpenBackup


@dataclass(frozen=True, slots=True)
class Verified:
    backup: Backup
    tables: int
    rows: int
    files: int


def verify(opened: OpenBackup) -> Verified:
    """Corrupt, with what is wrong. Needs room for the database as SQLite among temporary files."""
    files: set[str] = set()
    rows = 0

    def count(tx: Connection, contents: Contents) -> None:
        nonlocal rows
        row = server.get(tx)
        if row is None or row.database_id != contents.database:
            raise Corrupt("The backup's tables do not belong to the database it names.")
        rows = sum(table_rows.count_rows(tx, name) for name in contents.tables)

    with (
        tempfile.TemporaryDirectory(prefix="millpond-verify-") as folder,
        closing(Database(f"sqlite:///{Path(folder) / 'copy.db'}")) as db,
    ):
        contents = load(opened, db, take_file=lambda piece: files.add(piece.name), before_commit=count)
    return Verified(opened.manifest.backup, len(contents.tables), rows, len(files))
