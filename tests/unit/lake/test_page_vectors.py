"""What the page computes itself (cut points, chunk lists, packs) as this side says it must be.

Run this file as a program to write the vectors anew after a deliberate change of the format.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from millpond.lake.chunking import cut
from millpond.lake.chunks import ChunkList, encode_chunk_list
from millpond.lake.digests import digest_of
from millpond.lake.packs import PackWriter

VECTORS = Path(__file__).parents[3] / "web" / "src" / "lib" / "upload" / "vectors.json"


def noise(seed: int, length: int) -> bytes:
    """Bytes that look random, by a generator (xorshift32) that is two lines in any language."""
    state, out = seed, bytearray()
    while len(out) < length:
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        out += state.to_bytes(4, "little")
    return bytes(out[:length])


def cutting(seed: int, length: int, repeat: int = 1) -> dict[str, Any]:
    data = noise(seed, length) * repeat
    chunks = [bytes(chunk) for chunk in cut(io.BytesIO(data))]
    listed = encode_chunk_list(ChunkList([digest_of(chunk) for chunk in chunks], [len(chunk) for chunk in chunks]))
    return {
        "seed": seed,
        "length": length,
        "repeat": repeat,
        "chunks": [len(chunk) for chunk in chunks],
        "list": digest_of(listed).hex(),
    }


def packing(*blobs: bytes) -> dict[str, Any]:
    writer = PackWriter()
    for blob in blobs:
        writer.add(digest_of(blob), blob)
    return {"blobs": [blob.hex() for blob in blobs], "pack": writer.finish().hex()}


def vectors() -> dict[str, Any]:
    return {
        "digests": [{"data": data.hex(), "digest": digest_of(data).hex()} for data in (b"", b"a", noise(7, 3000))],
        # Odd lengths, a length below twice the least, content whose cut points repeat.
        "cuts": [cutting(1, 6_000_001), cutting(2, 1_048_577), cutting(3, 700_001, repeat=9)],
        # Blobs that this side, too, stores raw.
        "packs": [packing(b"a"), packing(b"hello", noise(5, 300), b"\x89PNG\r\n\x1a\n and no more")],
    }


def test_the_page_is_held_against_what_the_format_says() -> None:
    assert json.loads(VECTORS.read_text()) == vectors()


if __name__ == "__main__":
    VECTORS.write_text(json.dumps(vectors(), indent=2) + "\n")
