"""Locators: where the blobs of one leaf page lie."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat
from millpond.lake import frames
from millpond.lake.digests import DIGEST_SIZE
from millpond.model.dataset import BlobPlace, place_of

_HEAD = struct.Struct("<4sII")
_MAGIC = b"MLO1"
_PACK_ID = 16
_ROW = DIGEST_SIZE + 4 * 4 + 1
# A leaf of 4,096 entries that all are large files of a thousand chunks is still below this.
LOCATOR_MOST = 512 << 20


def encode_locator(places: Iterable[BlobPlace]) -> bytes:
    """The canonical bytes; places of one digest are given once. The order given does not matter."""
    # A place is a tuple that begins with its digest.
    rows = sorted({place.digest: place for place in places}.values())
    digests, packs_of, offsets, stored, raw, encodings = zip(*rows, strict=True) if rows else ((),) * 6
    packs = sorted(set(packs_of))
    number = {pack: index for index, pack in enumerate(packs)}
    numbers = f"<{len(rows)}I"
    return b"".join(
        (
            _HEAD.pack(_MAGIC, len(packs), len(rows)),
            *(bytes.fromhex(pack) for pack in packs),
            *digests,
            struct.pack(numbers, *map(number.__getitem__, packs_of)),
            struct.pack(numbers, *offsets),
            struct.pack(numbers, *stored),
            struct.pack(numbers, *raw),
            bytes(encodings),
        )
    )


def decode_locator(data: Buffer) -> dict[bytes, BlobPlace]:
    """Places by digest; BadFormat unless `data` is a locator."""
    view = bytes(data)
    if len(view) < _HEAD.size:
        raise BadFormat("A locator is too short.")
    magic, packs, blobs = _HEAD.unpack_from(view)
    at = _HEAD.size + packs * _PACK_ID
    if magic != _MAGIC or len(view) != at + blobs * _ROW:
        raise BadFormat("A locator does not have the right shape.")
    ids = [view[_HEAD.size + n * _PACK_ID : _HEAD.size + (n + 1) * _PACK_ID].hex() for n in range(packs)]
    digests = [view[at + n * DIGEST_SIZE : at + (n + 1) * DIGEST_SIZE] for n in range(blobs)]
    at += blobs * DIGEST_SIZE
    pack, offset, stored, raw = (struct.unpack_from(f"<{blobs}I", view, at + n * 4 * blobs) for n in range(4))
    if pack and max(pack) >= packs:
        raise BadFormat("A locator names a pack that it does not list.")
    packs_of = map(ids.__getitem__, pack)
    rows = zip(digests, packs_of, offset, stored, raw, view[at + 16 * blobs :], strict=True)
    return dict(zip(digests, map(place_of, rows), strict=True))


def pack_locator(places: Iterable[BlobPlace]) -> bytes:
    """The object that is stored: one zstd frame. BadFormat for one that no reader would take."""
    data = encode_locator(places)
    if len(data) > LOCATOR_MOST:
        raise BadFormat("The large files of one page have more chunks than a locator may name.")
    return frames.compress(data)


def unpack_locator(frame: Buffer) -> dict[bytes, BlobPlace]:
    return decode_locator(frames.decompress(frame, LOCATOR_MOST))
