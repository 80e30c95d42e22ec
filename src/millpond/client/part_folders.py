"""The folders that clones are fetched into, beside their place: whose they are, and which nobody uses any more."""

from __future__ import annotations

import os
from contextlib import ExitStack
from glob import escape
from pathlib import Path

try:
    import fcntl
except ImportError:  # not POSIX: what a killed clone left is then for its owner to remove
    fcntl = None  # type: ignore[assignment]

PART = ".part"


def find_parts(directory: Path, stack: ExitStack) -> list[Path]:
    """The folders that clones into `directory` left beside it and nobody uses: held until the stack is closed."""
    found = sorted(directory.parent.glob(f".{escape(directory.name)}.*{PART}"))
    return [folder for folder in found if hold(folder, stack)]


def hold(folder: Path, stack: ExitStack) -> bool:
    """Say that the folder is in use, until the stack is closed or this process ends; False if it is, or is not ours."""
    if fcntl is None:
        return False
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        stack.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(descriptor).st_uid == os.geteuid()
    except OSError:
        return False
