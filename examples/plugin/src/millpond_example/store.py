"""The store `sqlite:///path/to/lake.db`: a whole lake in one file. The server serves its objects."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from millpond.blobs.location import Location
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import CRC32_HEADER, BlobInfo, Buffer, SignedUrl, check_key, check_prefix
from millpond.errors import BadRequest, Conflict, NotFound, SetupError, StoreUnavailable


class SqliteStore:
    signed_puts_only_create = True  # the server answers them

    def __init__(self, path: Path, signer: LocalSigner | None) -> None:
        self._path = path
        self._signer = signer
        with self._database() as database:
            database.execute("CREATE TABLE IF NOT EXISTS object (key TEXT PRIMARY KEY, data BLOB) WITHOUT ROWID")

    def get(self, key: str) -> bytes:
        with self._database() as database:
            row = database.execute("SELECT data FROM object WHERE key = ?", (check_key(key),)).fetchone()
        if row is None:
            raise NotFound(f"The lake has no object {key!r}.")
        return bytes(row[0])

    def get_range(self, key: str, start: int, end: int) -> bytes:
        data = self.get(key)
        if not 0 <= start <= end <= len(data):
            raise BadRequest(f"Object {key!r} has {len(data)} bytes, not {start} to {end}.")
        return data[start:end]

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        verb = "INSERT" if if_absent else "REPLACE"
        try:
            with self._database() as database:
                database.execute(f"{verb} INTO object VALUES (?, ?)", (check_key(key), data))
        except sqlite3.IntegrityError as error:
            raise Conflict(f"Object {key!r} already exists.") from error

    def head(self, key: str) -> BlobInfo | None:
        with self._database() as database:
            row = database.execute("SELECT length(data) FROM object WHERE key = ?", (check_key(key),)).fetchone()
        return BlobInfo(key, row[0]) if row else None

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[BlobInfo]:
        query = "SELECT key, length(data) FROM object WHERE key > ? AND substr(key, 1, ?) = ? ORDER BY key"
        with self._database() as database:
            found = database.execute(query, (after or "", len(prefix), check_prefix(prefix))).fetchall()
        return iter([BlobInfo(key, size) for key, size in found])

    def delete(self, key: str) -> None:
        with self._database() as database:
            database.execute("DELETE FROM object WHERE key = ?", (check_key(key),))

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        if self._signer is None:
            raise SetupError("This store has no secret to sign URLs with.")
        return self._signer.sign(method, key, seconds)

    def sign_create(self, key: str, seconds: int, crc32: str = "") -> SignedUrl:
        return replace(self.sign("PUT", key, seconds), headers={CRC32_HEADER: crc32} if crc32 else {})

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """One connection for each call, so that any thread may make it; committed, and closed, at the end."""
        try:
            with closing(sqlite3.connect(self._path, timeout=30)) as database, database:
                yield database
        except sqlite3.OperationalError as error:
            raise StoreUnavailable(f"The lake in {self._path} failed: {error}") from error


def open_store(location: Location, environment: Mapping[str, str], signer: LocalSigner | None) -> SqliteStore:
    """`environment` is where a store finds its credentials; this one needs none."""
    if location.bucket or not location.prefix:
        raise BadRequest("Write sqlite:///path/to/lake.db, with three slashes.")
    return SqliteStore(Path("/", location.prefix), signer)
