"""The stream between two agents, inside TLS (docs/design/021): a greeting, then lists of files and their bytes."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAGIC = b"MILLPEER1"
# What a greeting shows: a grant, which opens a session once, or the session that it opened.
GRANT, SESSION = b"g", b"s"
ACCEPTED, REFUSED = b"+", b"-"
# Of each file of a list: its bytes follow, or it is not there as it should be, or not yet: how many bytes of the commit
# are there follows, and then another of the three.
PRESENT, ABSENT, LATER = b"+", b"-", b"."
MOST_FILES = 2048
MOST_PATH = 4096
MOST_WORDS = 1000
BLOCK = 1 << 18

_LENGTH = struct.Struct(">H")
_COUNT = struct.Struct(">I")
_RANGE = struct.Struct(">QQ")
_REACHED = struct.Struct(">Q")


class WantedFile(NamedTuple):
    """`size` bytes of a file, from `start` on; the path is that of the tree."""

    path: bytes
    start: int
    size: int


class BrokenStream(Exception):
    """The other end closed the connection, is silent, or sent what the protocol does not know.

    No OSError: where bytes are written to a disk as they come, that would be one of the disk.
    """


def send_words(connection: socket.socket, kind: bytes, words: str) -> None:
    data = words.encode()[:MOST_WORDS]
    connection.sendall(kind + _LENGTH.pack(len(data)) + data)


def receive_words(connection: socket.socket) -> tuple[bytes, str]:
    kind = exactly(connection, 1)
    (length,) = _LENGTH.unpack(exactly(connection, _LENGTH.size))
    if length > MOST_WORDS:
        raise BrokenStream("A word is too long.")
    return kind, exactly(connection, length).decode(errors="replace")


def send_list(connection: socket.socket, files: Iterable[WantedFile]) -> None:
    packed = [_LENGTH.pack(len(one.path)) + one.path + _RANGE.pack(one.start, one.size) for one in files]
    connection.sendall(_COUNT.pack(len(packed)) + b"".join(packed))


def receive_list(connection: socket.socket) -> list[WantedFile] | None:
    """The next list; None if the other end is done."""
    head = _received(connection, _COUNT.size)
    if not head:
        return None
    (count,) = _COUNT.unpack(head + exactly(connection, _COUNT.size - len(head)))
    if count > MOST_FILES:
        raise BrokenStream("A list is too long.")
    return [_wanted(connection) for _ in range(count)]


def later(reached: int) -> bytes:
    return LATER + _REACHED.pack(reached)


def receive_reached(connection: socket.socket) -> int:
    """What follows LATER."""
    return int(_REACHED.unpack(exactly(connection, _REACHED.size))[0])


def blocks(connection: socket.socket, size: int, most: int = BLOCK) -> Iterator[bytes]:
    """The next `size` bytes, as they come, at most so many at a time."""
    left = size
    while left:
        block = _received(connection, min(left, most))
        if not block:
            raise BrokenStream("The connection was closed.")
        left -= len(block)
        yield block


def exactly(connection: socket.socket, size: int) -> bytes:
    return b"".join(blocks(connection, size))


def _received(connection: socket.socket, most: int) -> bytes:
    try:
        return connection.recv(most)
    except OSError as error:
        raise BrokenStream(f"The connection broke: {error}.") from error


def _wanted(connection: socket.socket) -> WantedFile:
    (length,) = _LENGTH.unpack(exactly(connection, _LENGTH.size))
    if length > MOST_PATH:
        raise BrokenStream("A path is too long.")
    path = exactly(connection, length)
    return WantedFile(path, *_RANGE.unpack(exactly(connection, _RANGE.size)))
