"""Files that others rewrite: noticed within a second, without a second look at what did not change."""

from __future__ import annotations

from pathlib import Path

Stamp = tuple[int, int, int]


class WatchedFiles:
    """Some files and what they looked like at the last call."""

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        self._stamps: tuple[Stamp | None, ...] | None = None

    def changed(self) -> bool:
        """True if a file differs from the last call; True at the first call."""
        stamps = tuple(_stamp(path) for path in self._paths)
        before, self._stamps = self._stamps, stamps
        return stamps != before


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_ino, found.st_size)
