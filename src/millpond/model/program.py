"""Files that are handed on by path and content: which of them are programs."""

from __future__ import annotations

MODE, PROGRAM_MODE = 0o100644, 0o100755


class Program(bytes):
    """The content of an executable file. Everything else is plain `bytes`."""


def content(data: bytes, *, executable: bool) -> bytes:
    return Program(data) if executable else data


def mode_of(data: bytes) -> int:
    """The mode of a file with this content, as in a zip or a file system."""
    return PROGRAM_MODE if isinstance(data, Program) else MODE
