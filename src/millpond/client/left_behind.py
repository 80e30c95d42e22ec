"""What a clone that was cut off has brought: the next one into the same folder takes it over, every byte checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from glob import escape
from pathlib import Path

from millpond.errors import MillError
from millpond.lake.pages import Row, entry_of
from millpond.lake.reading import read_chunks
from millpond.lake.target import Target
from millpond.model.tree import Content

try:
    import fcntl
except ImportError:  # not POSIX: what a killed clone left is then for its owner to remove
    fcntl = None  # type: ignore[assignment]

PART = ".part"


class LeftBehind:
    """Whether files are of the same commit does not matter: each is taken only if it is what the tree names."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = [os.fsencode(folder) for folder in folders]

    def __call__(self, rows: Sequence[Row], into: Target) -> Callable[[], Sequence[Row]]:
        return lambda: [row for row in rows if not self._take(row, into)]

    def _take(self, row: Row, into: Target) -> bool:
        entry = entry_of(row)
        if entry.content not in (Content.BLOB, Content.CHUNKS):
            return False
        for folder in self._folders:
            try:
                if read_chunks(folder, entry.path, lambda digest, data: None).entry == entry:
                    os.rename(folder + b"/" + entry.path, into.root + b"/" + entry.path)  # noqa: PTH104 - bytes path
                    return True
            except (OSError, MillError):
                continue  # not there, or not as it should be: it is fetched
        return False


def find(directory: Path, stack: ExitStack) -> list[Path]:
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
