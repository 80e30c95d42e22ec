"""Backups of the server, over the API: for site administrators."""

from __future__ import annotations

import io
import re
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from millpond.client.http import Api, segment
from millpond.client.transport import Streamed
from millpond.errors import MillError, NameTaken
from millpond.wire.backups import Backup, BackupRun, BackupStatus

_PIECE = 1 << 20
_MEMBER = re.compile(r"data/[0-9]{6,9}|backup\.json")
_LOOK_SECONDS = 0.5


def status(api: Api) -> BackupStatus:
    return api.get("/backups/status", BackupStatus)


def list_backups(api: Api) -> Iterator[Backup]:
    """Complete ones, newest first."""
    return api.items("/backups", Backup)


def create(api: Api) -> BackupRun:
    """Ask the server for a backup; it is made after the answer."""
    return api.send("POST", "/backups", BackupRun)


def verify(api: Api, backup_id: str) -> BackupRun:
    """Ask the server to read a backup through; it does after the answer."""
    return api.send("POST", f"/backups/{segment(backup_id)}/verify", BackupRun)


def wait(api: Api, run: BackupRun, *, sleep: Callable[[float], None] = time.sleep) -> BackupRun:
    """The run when it is over. MillError with the reason if it failed."""
    while run.state in ("queued", "running"):
        sleep(_LOOK_SECONDS)
        run = api.get(f"/backups/runs/{segment(run.id)}", BackupRun)
    if run.state == "failed":
        verb = "made" if run.work == "create" else "verified"
        raise MillError(f"The backup was not {verb}: {run.problem}", hint="See: mill backup status")
    return run


def download(api: Api, backup_id: str, folder: Path) -> Path:
    """Save an encrypted backup below `folder`; it is whole when its `backup.json` is there. NameTaken if it exists."""
    target = folder / backup_id
    if target.exists():
        raise NameTaken(f"{target} already exists.", hint="Choose another directory.")
    aside = folder / f".{backup_id}"
    aside.mkdir(parents=True, mode=0o700, exist_ok=True)
    with (
        api.stream(f"/backups/{segment(backup_id)}/content", _PIECE) as answer,
        tarfile.open(mode="r|", fileobj=_File(answer)) as tar,
    ):
        for member in tar:
            content = tar.extractfile(member)
            name = member.name.removeprefix(f"{backup_id}/")
            if content is None or not _MEMBER.fullmatch(name):
                raise MillError(f"The server sent {member.name[:200]!r}, which is no part of a backup.")
            (aside / name).parent.mkdir(parents=True, exist_ok=True)
            with (aside / name).open("wb") as file:
                while piece := content.read(_PIECE):
                    file.write(piece)
    if not (aside / "backup.json").is_file():
        raise MillError("The download broke off.", hint="Try again.")
    aside.rename(target)
    return target


class _File(io.RawIOBase):
    """What tarfile reads from: a body that comes in pieces."""

    def __init__(self, answer: Streamed) -> None:
        self._pieces = iter(answer.pieces)
        self._waiting = b""

    def read(self, size: int = -1) -> bytes:
        while (size < 0 or len(self._waiting) < size) and (piece := next(self._pieces, None)) is not None:
            self._waiting += piece
        size = len(self._waiting) if size < 0 else size
        found, self._waiting = self._waiting[:size], self._waiting[size:]
        return found
