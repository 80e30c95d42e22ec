"""What one range of a pack is needed for: every blob in it is checked, then written wherever it belongs.

Orders are plain tuples, because they go to other processes by the ten thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat, Corrupt
from millpond.lake.encoding import decode_blob
from millpond.lake.target import Target
from millpond.model.path import to_text
from millpond.model.tree import Kind

_FILES = {kind.value: kind for kind in Kind}

# Bytes `start` to `end` (not included) of the order's pack.
ReadRange = Callable[[int, int], Buffer]


class Use(NamedTuple):
    """A whole file or link of this content; with an `offset`, a part of a file that is there already."""

    path: bytes
    kind: int
    size: int
    offset: int | None = None


class Blob(NamedTuple):
    digest: bytes
    offset: int
    stored: int
    raw: int
    encoding: int
    uses: list[Use]


class Order(NamedTuple):
    """One range of one pack and the blobs in it, in the order of their offsets."""

    pack_id: str
    start: int
    end: int
    blobs: list[Blob]


def write_range(order: Order, data: Buffer, read: ReadRange, into: Target) -> None:
    """Write what `data`, the order's range, is needed for. Corrupt if the store holds other bytes than the tree names.

    `read` is for blobs that were damaged on the way: what the store holds decides.
    """
    for blob, content in contents(order, data, read):
        for use in blob.uses:
            _write(use, content, into)


def contents(order: Order, data: Buffer, read: ReadRange) -> Iterator[tuple[Blob, Buffer]]:
    """Each blob with its content, checked, which is valid until the next one is asked for."""
    view = memoryview(data)
    if len(view) != order.end - order.start:
        raise Corrupt(f"Pack {order.pack_id} is shorter than its locators say.")
    for blob in order.blobs:
        at = blob.offset - order.start
        try:
            yield blob, decode_blob(blob.digest, blob.encoding, view[at : at + blob.stored], blob.raw)
        except Corrupt:
            again = read(blob.offset, blob.offset + blob.stored)
            yield blob, decode_blob(blob.digest, blob.encoding, again, blob.raw)


def _write(use: Use, content: Buffer, into: Target) -> None:
    if use.offset is not None:
        into.write_part(use.path, use.offset, content)
        return
    if len(content) != use.size:
        raise Corrupt(f"{to_text(use.path)!r} has another size than the tree says.")
    if use.kind == Kind.SYMLINK:
        into.write_link(use.path, _link_target(use, content))
    else:
        into.write_file(use.path, _FILES[use.kind], content)


def _link_target(use: Use, content: Buffer) -> bytes:
    target = bytes(content)
    if b"\0" in target:
        raise BadFormat(f"The link {to_text(use.path)!r} has a target that no file system can hold.")
    return target
