"""Entries of a tree, as in docs/design/001-lake-format.md."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

NO_DIGEST = bytes(32)


class Kind(IntEnum):
    DIRECTORY = 1
    SYMLINK = 2
    FILE = 3
    EXECUTABLE = 4

    @property
    def is_file(self) -> bool:
        return self in (Kind.FILE, Kind.EXECUTABLE)


class Content(IntEnum):
    NOTHING = 0
    BLOB = 1
    CHUNKS = 2
    EXTERNAL = 3


@dataclass(frozen=True, slots=True)
class Entry:
    path: bytes
    kind: Kind
    size: int = 0
    content: Content = Content.NOTHING
    digest: bytes = NO_DIGEST


@dataclass(frozen=True, slots=True)
class TreeChange:
    """One line of a diff: `before` is None for an added path, `after` for a removed one.

    A rename is one line at its new path, with the old path in `before`.
    """

    path: bytes
    before: Entry | None
    after: Entry | None

    @property
    def change(self) -> Literal["added", "removed", "changed", "renamed"]:
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        return "changed" if self.before.path == self.after.path else "renamed"
