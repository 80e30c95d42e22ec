from __future__ import annotations

import hashlib
import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyfastcdc import FastCDC

from millpond.errors import BadFormat
from millpond.lake.chunking import BLOCK, cut, cut_batches
from millpond.lake.chunks import (
    CHUNK_AVERAGE,
    CHUNK_LEAST,
    CHUNK_MOST,
    ChunkList,
    decode_chunk_list,
    encode_chunk_list,
)
from millpond.lake.digests import digest_of


def lengths_of(data: bytes) -> list[int]:
    return [len(chunk) for chunk in cut(io.BytesIO(data))]


def test_chunks_are_the_file() -> None:
    data = random.Random(1).randbytes(9_000_000)
    chunks = [bytes(chunk) for chunk in cut(io.BytesIO(data))]
    assert b"".join(chunks) == data
    assert all(CHUNK_LEAST <= len(chunk) <= CHUNK_MOST for chunk in chunks[:-1])


def test_cut_points_are_part_of_the_format() -> None:
    """The example of docs/design/001: other cuts would give the same file another id, and deduplicate nothing."""
    data = b"".join(hashlib.sha256(number.to_bytes(4, "little")).digest() for number in range(262_149)) + b"x"
    assert lengths_of(data) == [637_477, 2_010_659, 1_255_910, 2_414_763, 1_756_467, 313_493]


def test_short_reads_do_not_move_cut_points() -> None:
    """A pipe or a network file system may give fewer bytes than asked for."""
    data = random.Random(2).randbytes(6_000_000)

    class Dribble(io.BytesIO):
        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            return super().readinto(memoryview(buffer)[:77_777])

    assert [len(chunk) for chunk in cut(Dribble(data))] == lengths_of(data)


@pytest.mark.parametrize("length", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 12_345])
@pytest.mark.parametrize("expected", [100, BLOCK])
def test_cut_points_do_not_depend_on_how_much_is_read_at_once(length: int, expected: int) -> None:
    """Neither on where a block ends nor on how long the file was thought to be."""
    data = random.Random(4).randbytes(length)
    whole = FastCDC(CHUNK_AVERAGE, min_size=CHUNK_LEAST, max_size=CHUNK_MOST, normalized_chunking=1, seed=0)
    cut_at = [len(chunk) for batch in cut_batches(io.BytesIO(data), expected) for chunk in batch]
    assert cut_at == [chunk.length for chunk in whole.cut_buf(data)]


def test_a_batch_is_valid_while_the_next_one_is_cut() -> None:
    data = random.Random(5).randbytes(3 * BLOCK)
    before: list[memoryview] = []
    found = b""
    for batch in cut_batches(io.BytesIO(data)):
        found += b"".join(before)
        before = batch
    assert found + b"".join(before) == data


def test_an_insertion_changes_one_or_two_chunks() -> None:
    data = random.Random(3).randbytes(12_000_000)
    changed = data[:6_000_000] + b"inserted" + data[6_000_000:]
    before = {digest_of(bytes(chunk)) for chunk in cut(io.BytesIO(data))}
    after = {digest_of(bytes(chunk)) for chunk in cut(io.BytesIO(changed))}
    assert len(after - before) <= 2


def test_content_without_cut_points_is_cut_at_the_greatest_length() -> None:
    assert lengths_of(bytes(10 << 20)) == [CHUNK_MOST, CHUNK_MOST, 2 << 20]


@given(st.lists(st.tuples(st.binary(min_size=32, max_size=32), st.integers(1, CHUNK_MOST)), min_size=1, max_size=20))
def test_a_chunk_list_comes_back(rows: list[tuple[bytes, int]]) -> None:
    chunks = ChunkList(tuple(digest for digest, _ in rows), tuple(length for _, length in rows))
    assert decode_chunk_list(encode_chunk_list(chunks)) == chunks
    assert chunks.size == sum(length for _, length in rows)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        encode_chunk_list(ChunkList((), ())),
        encode_chunk_list(ChunkList((bytes(32),), (0,))),
        encode_chunk_list(ChunkList((bytes(32),), (CHUNK_MOST + 1,))),
        encode_chunk_list(ChunkList((bytes(32),), (5,)))[:-1],
        b"MCL2" + encode_chunk_list(ChunkList((bytes(32),), (5,)))[4:],
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(BadFormat):
        decode_chunk_list(data)
