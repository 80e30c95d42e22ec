"""Restores a backup into a new data directory, with SQLite or PostgreSQL, and lets its server take the lake over.

The restored database gets an identity of its own. The lake then belongs to it as after a reindex (docs/design/005): a
server that still runs on the old one stops writing, and what was committed since the backup is found and named.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sqlalchemy import Connection, inspect

from millpond import data_dir
from millpond.blobs.location import Location, open_store
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import BlobStore
from millpond.db import restored, server
from millpond.db.engine import Database
from millpond.errors import Corrupt, NotFound, SetupError
from millpond.model.backup import Backup
from millpond.model.ids import new_id
from millpond.sealing import Seal
from millpond.services import signing_secret
from millpond.services.backups.create import KEY_FILE
from millpond.services.backups.loading import load
from millpond.services.backups.reading import Contents, FilePiece, OpenBackup, read_through
from millpond.services.deps import Clock
from millpond.services.lake import lake_owner
from millpond.services.lake.fence import SETTLE_SECONDS
from millpond.settings import Settings

# Nothing is signed with it: the lake is only looked at.
_UNSIGNED = bytes(32)
_RESTORING = ".restoring"
_DATABASE = "millpond.db"
# What may lie in the directory beforehand: the lake, if it was brought there, and what is no data.
_ALLOWED = frozenset({"server.lock", "lost+found", "lake", _RESTORING})
_FOLDERS = frozenset({"logs", "components", "provisioners", "tiers"})


@dataclass(frozen=True, slots=True)
class Restored:
    backup: Backup
    tables: int
    rows: int
    files: int
    # The lake that the restored server owns now; None: it was left alone.
    lake: str | None
    # Whether `mill up` needs to be told of it.
    is_default_lake: bool
    has_keys: bool


@dataclass(frozen=True, slots=True)
class LakeChoice:
    """Which lake the restored server is to own. `url` None: the one that the backed-up server had."""

    url: str | None = None
    leave_alone: bool = False
    # Also one that another server has taken over since.
    from_others: bool = False


def restore(
    opened: OpenBackup, settings: Settings, lake: LakeChoice, clock: Clock, *, settle_seconds: float = SETTLE_SECONDS
) -> Restored:
    """SetupError for a target that is not empty, or a lake that is somebody else's. Cut off, nothing is visible."""
    folder = settings.data_dir
    _check_directory(folder)
    with data_dir.locked(folder, clock.now()):
        if settings.database_url is not None:
            with closing(Database(settings.database)) as db:
                _check_database(db)
        found = _lake_of(opened, settings, lake)
        aside = _Aside(folder / _RESTORING)
        contents = _load(opened, settings, aside)
        data_dir.keep_private(folder, shared=("lake",))
        if found is not None:
            with closing(Database(settings.database)) as db:
                store = _open_lake(found, db)
                if lake_owner.become_owner(db, store, clock.now()) is not None:
                    time.sleep(settle_seconds)
    backup = opened.manifest.backup
    return Restored(
        backup=backup,
        tables=len(contents.tables),
        rows=backup.rows,
        files=len(aside.names),
        lake=found,
        is_default_lake=found is not None and Path(Location.parse(found).prefix) == folder / "lake",
        has_keys=KEY_FILE in aside.names or settings.secret_key_file is not None,
    )


def _load(opened: OpenBackup, settings: Settings, aside: _Aside) -> Contents:
    folder = settings.data_dir

    def finish(tx: Connection, contents: Contents) -> None:
        database_id = new_id(20)
        _move_secret(tx, settings.secret_key_file or aside.folder / KEY_FILE, contents.database, database_id)
        restored.begin_anew(tx, database_id, volume_path=(f"{contents.data_dir}/volume", f"{folder}/volume"))
        if settings.database_url is not None:
            aside.publish(folder)

    if settings.database_url is not None:
        with closing(Database(settings.database)) as db:
            contents = load(opened, db, take_file=aside.take, before_commit=finish)
    else:
        with closing(Database(f"sqlite:///{aside.folder / _DATABASE}")) as db:
            contents = load(opened, db, take_file=aside.take, before_commit=finish)
        (aside.folder / _DATABASE).chmod(0o600)
        aside.publish(folder)
        # Last of all: without it, nothing was restored.
        (aside.folder / _DATABASE).replace(folder / _DATABASE)
    shutil.rmtree(aside.folder)
    _sync(folder)
    return contents


def _move_secret(tx: Connection, key_file: Path, before: str, after: str) -> None:
    """The signing secret is sealed for one database. Without its key it is replaced at the first start."""
    if key_file.is_file() and not signing_secret.move(tx, Seal.from_file(key_file, make=False), before, after):
        raise SetupError(
            f"The key in {key_file.name} does not open the backup's secrets.",
            hint="Name the server's key: --secret-key-file",
        )


class _Aside:
    """Files as they come, beside their place until all of them are there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: set[str] = set()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)

    def take(self, piece: FilePiece) -> None:
        target = self.folder / _inside(piece.name)
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(target, "r+b" if piece.offset else "wb") as file:
            file.seek(piece.offset)
            file.write(piece.data)
            file.flush()
            os.fsync(file.fileno())
        target.chmod(piece.mode & 0o777)
        self.names.add(piece.name)

    def publish(self, folder: Path) -> None:
        for name in sorted(_FOLDERS):
            if (self.folder / name).is_dir():
                (self.folder / name).replace(folder / name)
        if (self.folder / KEY_FILE).is_file():
            (self.folder / KEY_FILE).replace(folder / "secret.key")


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if name != KEY_FILE and (path.is_absolute() or ".." in path.parts or path.parts[0] not in _FOLDERS):
        raise Corrupt(f"The backup holds the file {name[:200]!r}, which no backup does.")
    return path


def _check_directory(folder: Path) -> None:
    there = sorted({path.name for path in folder.iterdir()} - _ALLOWED) if folder.is_dir() else []
    if there:
        raise SetupError(
            f"{folder} is not empty: it holds {', '.join(there[:3])}{' and more' if len(there) > 3 else ''}.",
            hint="Restore into a new directory; nothing is overwritten.",
        )


def _check_database(db: Database) -> None:
    with db.read() as tx:
        there = inspect(tx).get_table_names()
    if there:
        raise SetupError(
            f"The database {db.engine.url.render_as_string()} is not empty: it holds the table {sorted(there)[0]}.",
            hint="Restore into a new database: createdb NAME",
        )


def _lake_of(opened: OpenBackup, settings: Settings, lake: LakeChoice) -> str | None:
    """The lake's URL, once it is known to be the backup's, and whose it is."""
    if lake.leave_alone:
        return None
    contents = _contents_of(opened)
    brought = (settings.data_dir / "lake").is_dir()
    url = lake.url or (settings.lake if brought else contents.lake_url)
    location = Location.parse(url)
    if location.scheme == "file" and not (Path(location.prefix) / "millpond.json").is_file():
        raise NotFound(
            f"There is no lake in {location.prefix}.",
            hint="Name it with --lake, or restore without it (--no-lake) and run `mill lake take-over` later.",
        )
    seen = lake_owner.look(open_store(url, LocalSigner(_UNSIGNED)))
    if contents.lake_id is not None and seen.lake_id != contents.lake_id:
        raise SetupError(
            f"This is lake {seen.lake_id}; the backup belongs to lake {contents.lake_id}.", hint="Name it with --lake."
        )
    if seen.owner not in (None, contents.database) and not lake.from_others:
        raise SetupError(
            f"The lake belongs to another server: its database is {seen.owner}, the backup's is {contents.database}.",
            hint="If that server is gone for good: --take-over. To restore without the lake: --no-lake",
        )
    return url


def _contents_of(opened: OpenBackup) -> Contents:
    for piece in read_through(opened):
        if isinstance(piece, Contents):
            return piece
    raise Corrupt("The backup ends early.", hint="Choose another backup.")


def _open_lake(url: str, db: Database) -> BlobStore:
    with db.read() as tx:
        row = server.get(tx)
    return open_store(url, LocalSigner(row.secret if row else _UNSIGNED))


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
