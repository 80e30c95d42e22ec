"""What a run of a mirror did, or would do, counted."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from millpond.model.path import to_text
from millpond.model.quantity import format_count

# Of conflicts, and of files left out or failed, the first are named.
NAMED = 100
Named = list[tuple[str, str]]


@dataclass
class Tally:
    """Safe for threads."""

    copied: int = 0
    copied_bytes: int = 0
    unchanged: int = 0
    removed: int = 0
    conflicts: Named = field(default_factory=list)
    conflict_count: int = 0
    skipped: Named = field(default_factory=list)
    skipped_count: int = 0
    failed: Named = field(default_factory=list)
    failed_count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def copy(self, size: int) -> None:
        with self._lock:
            self.copied += 1
            self.copied_bytes += size

    def keep(self) -> None:
        with self._lock:
            self.unchanged += 1

    def remove(self) -> None:
        with self._lock:
            self.removed += 1

    def conflict(self, path: bytes, why: str) -> None:
        with self._lock:
            self.conflict_count += 1
            _name(self.conflicts, path, why)

    def skip(self, path: bytes, why: str) -> None:
        with self._lock:
            self.skipped_count += 1
            _name(self.skipped, path, why)

    def fail(self, path: bytes, why: str) -> None:
        with self._lock:
            self.failed_count += 1
            _name(self.failed, path, why)

    @property
    def problem(self) -> str | None:
        """In words, if something failed."""
        if not self.failed_count:
            return None
        path, why = self.failed[0]
        return f"Cannot put {format_count(self.failed_count, 'file')}. {path}: {why}"

    def told(self, *, dry_run: bool = False) -> dict[str, Any]:
        """As it is kept with the mirror."""
        return {
            "dry_run": dry_run,
            "copied": self.copied,
            "copied_bytes": self.copied_bytes,
            "unchanged": self.unchanged,
            "removed": self.removed,
            "conflict_count": self.conflict_count,
            "conflicts": _told(self.conflicts),
            "skipped_count": self.skipped_count,
            "skipped": _told(self.skipped),
            "failed_count": self.failed_count,
            "failed": _told(self.failed),
        }


def _name(names: Named, path: bytes, why: str) -> None:
    if len(names) < NAMED:
        names.append((to_text(path), why))


def _told(names: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"path": path, "reason": reason} for path, reason in names]
