"""The server's data directory: used by one server at a time, which is known by name."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from millpond.errors import SetupError

_LOCK = "server.lock"
# The token of the command line on the server's own machine.
CLI_TOKEN_FILE = "cli-token"


@contextmanager
def locked(directory: Path, now: datetime) -> Iterator[None]:
    """Own the directory until the block ends, or the process does, however that ends. SetupError names the owner."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise SetupError(
            f"Cannot use the data directory {directory}: {error.strerror}.",
            hint="Choose another one with --data-dir.",
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SetupError(
                f"Millpond is already running on {directory}: {_owner(directory)}.",
                hint="Use that one, stop it, or start with another --data-dir.",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "since": now.isoformat()}).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def keep_private(directory: Path, *, shared: Collection[str]) -> None:
    """Let nobody else look into what the server keeps, but for `shared`: those look after themselves.

    Jobs of this machine run under other accounts and pass through here. What belongs to somebody else stays as it is.
    """
    within = (path for path in directory.iterdir() if path.name not in shared and not path.is_symlink())
    for path, mode in ((directory, 0o711), *((path, 0o700) for path in within)):
        with suppress(PermissionError):
            path.chmod(stat.S_IMODE(path.stat().st_mode) & mode)


def _owner(directory: Path) -> str:
    try:
        owner = json.loads((directory / _LOCK).read_text())
        return f"process {owner['pid']}, since {owner['since']}"
    except (OSError, ValueError, KeyError):
        return "a process that has just started"


def read_private(path: Path) -> str | None:
    """The text of a small file; None when there is none."""
    try:
        return path.read_text().strip() or None
    except FileNotFoundError:
        return None
