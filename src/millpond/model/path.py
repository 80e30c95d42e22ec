"""Paths inside a tree: raw bytes, relative, `/` between parts, and their text form for people and JSON.

The text form is reversible: a byte that is not part of valid UTF-8 is written `\\xNN`, a backslash `\\\\`.
"""

from __future__ import annotations

import re

from millpond.errors import BadPath

# As long as Linux takes in one call, so that every tree can be written out below an open directory.
MAX_PATH = 4095
MAX_PART = 255
# A working copy keeps its own state there: no tree may bring one along, in any case of letters.
RESERVED_PART = b".mill"

_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|\\)")


def check_path(path: bytes) -> bytes:
    """`path` itself if it may stand in a tree. Nothing that passes can lead outside the tree's root."""
    if not path or len(path) > MAX_PATH or b"\0" in path:
        raise BadPath(f"{to_text(path)[:200]!r} is not a path inside a tree.")
    for part in path.split(b"/"):
        if part in (b"", b".", b"..") or len(part) > MAX_PART or part.lower() == RESERVED_PART:
            raise BadPath(
                f"{to_text(path)[:200]!r} is not a path inside a tree.",
                hint="Paths are relative, without empty parts, '.', '..' or '.mill'.",
            )
    return path


def to_text(path: bytes) -> str:
    text = path.replace(b"\\", b"\\\\").decode("utf-8", "surrogateescape")
    if text.isascii():
        return text
    return "".join(f"\\x{ord(c) - 0xDC00:02x}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)


def from_text(text: str) -> bytes:
    out = bytearray()
    at = 0
    for match in _ESCAPE.finditer(text):
        out += text[at : match.start()].encode("utf-8", "surrogateescape")
        out += b"\\" if match[1] == "\\" else bytes([int(match[1][1:], 16)])
        at = match.end()
    out += text[at:].encode("utf-8", "surrogateescape")
    return bytes(out)
