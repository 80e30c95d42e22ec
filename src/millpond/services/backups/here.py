"""Backups on the server's own machine, whether the server runs or not: what `mill backup` does with a place."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from millpond.db.engine import Database
from millpond.errors import SetupError
from millpond.model.backup import Backup
from millpond.services.backups import create as making
from millpond.services.backups import places, restore, verify
from millpond.services.backups.encryption import read_passphrase
from millpond.services.backups.reading import open_backup
from millpond.services.backups.restore import LakeChoice, Restored
from millpond.services.backups.verify import Verified
from millpond.services.deps import SystemClock
from millpond.settings import Settings

__all__ = ["LakeChoice", "create", "list_backups", "restore_backup", "verify_backup"]


def create(settings: Settings, place: str, passphrase_file: Path | None, *, with_keys: bool) -> Backup:
    if settings.database_url is None and not (settings.data_dir / "millpond.db").is_file():
        raise SetupError(
            f"No server data in {settings.data_dir}.",
            hint="Run this on the server's machine with --data-dir (and --db), or without a place: mill backup create",
        )
    passphrase = _passphrase(passphrase_file)
    with closing(Database(settings.database)) as db:
        what = making.WhatToBackUp(db, settings, with_keys=with_keys)
        return making.create(what, places.open_place(place).store, passphrase=passphrase, now=SystemClock().now())


def list_backups(place: str) -> Sequence[Backup]:
    return places.list_backups(places.open_place(place, must_exist=True).store)


def verify_backup(which: str, passphrase_file: Path | None) -> Verified:
    place, backup_id = places.find_backup(which)
    return verify.verify(open_backup(place.store, backup_id, _passphrase(passphrase_file)))


def restore_backup(which: str, passphrase_file: Path | None, settings: Settings, lake: LakeChoice) -> Restored:
    place, backup_id = places.find_backup(which)
    opened = open_backup(place.store, backup_id, _passphrase(passphrase_file))
    return restore.restore(opened, settings, lake, SystemClock())


def _passphrase(file: Path | None) -> str | None:
    return read_passphrase(file) if file is not None else None
