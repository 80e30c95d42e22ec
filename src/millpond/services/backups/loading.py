"""Puts a backup's rows into an empty database of either kind, in one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from millpond.db import migrate, table_rows
from millpond.db.engine import Database
from millpond.errors import Corrupt, SetupError
from millpond.services.backups.reading import Contents, FilePiece, OpenBackup, Rows, read_through

TakeFile = Callable[[FilePiece], None]


def load(
    opened: OpenBackup, db: Database, *, take_file: TakeFile, before_commit: Callable[[Connection, Contents], None]
) -> Contents:
    """Nothing is in the database unless all of the backup is, and is as it was made. It must be empty."""
    pieces = read_through(opened)
    contents = _files_first(pieces, take_file)
    with _said(contents), migrate.filling(db, contents.revision) as tx:
        for piece in pieces:
            if not isinstance(piece, Rows):
                raise Corrupt("The backup's members are out of order.")
            table_rows.write_rows(tx, piece.table, piece.rows)
        table_rows.continue_numbers(tx, contents.numbers)
        before_commit(tx, contents)
    return contents


def _files_first(pieces: Iterator[Contents | FilePiece | Rows], take_file: TakeFile) -> Contents:
    for piece in pieces:
        if isinstance(piece, Contents):
            return piece
        if isinstance(piece, FilePiece):
            take_file(piece)
    raise Corrupt("The backup ends early.", hint="Choose another backup.")


@contextmanager
def _said(contents: Contents) -> Iterator[None]:
    """What the database refuses, in words: a row that breaks a rule of the other kind of database."""
    try:
        yield
    except DBAPIError as error:
        raise SetupError(
            f"The database refused the backup's rows: {json.dumps(str(error.orig).strip()[:300])}.",
            hint="Restore into the kind of database it was made from, and report this.",
        ) from error
