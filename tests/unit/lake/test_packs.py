from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.errors import BadFormat, Corrupt
from millpond.lake import locators
from millpond.lake.digests import digest_of
from millpond.lake.encoding import RAW, ZSTD, BlobEncoder, decode_blob, encode_blob
from millpond.lake.locators import decode_locator, encode_locator, pack_locator, unpack_locator
from millpond.lake.packs import PACK_MOST, PackWriter, read_index, verify_pack
from millpond.model.dataset import BlobPlace

PACK_ID = "0123456789abcdef" * 2


def blobs() -> st.SearchStrategy[list[bytes]]:
    compressible = st.builds(lambda part, times: part * times, st.binary(min_size=1, max_size=40), st.integers(1, 400))
    return st.lists(st.one_of(st.binary(min_size=1, max_size=300), compressible), max_size=20)


def a_pack(contents: list[bytes]) -> bytes:
    writer = PackWriter()
    for raw in contents:
        writer.add(digest_of(raw), raw)
    return bytes(writer.finish())


def index_of(pack: bytes) -> list[BlobPlace]:
    return read_index(PACK_ID, len(pack), lambda start, end: pack[start:end])


@given(blobs())
def test_a_pack_gives_back_every_blob(contents: list[bytes]) -> None:
    pack = a_pack(contents)
    places = verify_pack(PACK_ID, pack)
    assert places == index_of(pack)
    assert {place.digest for place in places} == {digest_of(raw) for raw in contents}
    by_digest = {digest_of(raw): raw for raw in contents}
    for place in places:
        stored = pack[place.offset : place.offset + place.stored]
        assert bytes(decode_blob(place.digest, place.encoding, stored, place.raw)) == by_digest[place.digest]


@given(blobs().filter(len), st.data())
def test_any_damage_to_a_pack_is_noticed(contents: list[bytes], data: st.DataObject) -> None:
    pack = bytearray(a_pack(contents))
    pack[data.draw(st.integers(0, len(pack) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises((BadFormat, Corrupt)):
        verify_pack(PACK_ID, pack)


@pytest.mark.parametrize("size", [0, 43, PACK_MOST + 1])
def test_impossible_sizes_are_no_packs(size: int) -> None:
    with pytest.raises(BadFormat):
        read_index(PACK_ID, size, lambda start, end: bytes(end - start))


def test_the_index_of_many_blobs_takes_two_reads() -> None:
    pack = a_pack([b"%d" % n for n in range(5000)])
    reads: list[tuple[int, int]] = []

    def read(start: int, end: int) -> bytes:
        reads.append((start, end))
        return pack[start:end]

    assert len(read_index(PACK_ID, len(pack), read)) == 5000
    assert len(reads) == 2


def test_a_writer_stops_at_its_target() -> None:
    writer = PackWriter(target=10_000)
    raw = os.urandom(3000)
    while writer.fits(len(raw)):
        writer.add(digest_of(raw), raw)
        raw = os.urandom(3000)
    assert len(writer) == 3
    assert len(writer.finish()) <= 10_000


def test_an_empty_writer_takes_what_is_larger_than_its_target() -> None:
    writer = PackWriter(target=1000)
    assert writer.fits(5000)
    assert not writer.fits(PACK_MOST)
    with pytest.raises(BadFormat):
        writer.add(bytes(32), os.urandom(PACK_MOST))


def test_the_memory_of_a_pack_is_used_again_whoever_holds_its_writer() -> None:
    """An error on the way holds the frames it came through, and they hold the writer."""
    spent = PackWriter(target=10_000)
    spent.add(bytes(32), os.urandom(2000))
    with spent.finish() as pack:
        assert len(pack) > 2000
    larger = PackWriter(buffer=spent.release())
    larger.add(bytes(32), os.urandom(50_000))
    assert len(larger.finish()) > 50_000


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (b"word " * 1000, ZSTD),
        (b"short", RAW),
        (os.urandom(100_000), RAW),
        (b"\x89PNG\r\n\x1a\n" + bytes(10_000), RAW),
        (b"\0\0\0\x18ftypmp42" + bytes(10_000), RAW),
        (b"RIFF\0\0\0\0WEBP" + bytes(10_000), RAW),
        (b"RIFF\0\0\0\0WAVE" + bytes(10_000), ZSTD),
    ],
    ids=["words", "short", "noise", "png", "mp4", "webp", "wave"],
)
def test_compresses_where_it_pays(raw: bytes, encoding: int) -> None:
    chosen, stored = encode_blob(raw)
    assert chosen == encoding
    assert len(stored) <= len(raw)
    assert bytes(decode_blob(digest_of(raw), chosen, stored, len(raw))) == raw


def test_noise_is_tried_less_often_and_words_behind_it_are_soon_compressed_again() -> None:
    encoder = BlobEncoder()
    noise, words, png = os.urandom(20_000), b"words and words " * 2000, b"\x89PNG\r\n\x1a\n" + bytes(10_000)
    assert {encoder.encode(noise)[0] for _ in range(100)} == {RAW}
    assert [encoder.encode(words)[0] for _ in range(20)].count(RAW) < 8
    assert {encoder.encode(png)[0] for _ in range(100)} == {RAW}
    assert encoder.encode(words)[0] == ZSTD, "what is known to be compressed is not tried, so it says nothing"


def test_a_blob_that_opens_to_more_than_it_says_is_corrupt() -> None:
    raw = bytes(1 << 20)
    _, stored = encode_blob(raw)
    with pytest.raises(Corrupt):
        decode_blob(digest_of(raw), ZSTD, stored, 1000)


def places() -> st.SearchStrategy[list[BlobPlace]]:
    number = st.integers(0, 2**32 - 1)
    place = st.builds(
        BlobPlace,
        digest=st.binary(min_size=32, max_size=32),
        pack_id=st.integers(0, 3).map(lambda n: f"{n:032x}"),
        offset=number, stored=number, raw=number, encoding=st.sampled_from([RAW, ZSTD]),
    )  # fmt: skip
    return st.lists(place, max_size=30, unique_by=lambda place: place.digest)


@given(places(), st.randoms())
def test_a_locator_comes_back_and_knows_no_order(found: list[BlobPlace], chance: object) -> None:
    data = encode_locator(found)
    shuffled = list(found)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert encode_locator(shuffled) == data
    assert decode_locator(data) == {place.digest: place for place in found}
    assert unpack_locator(pack_locator(found)) == decode_locator(data)


@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: b"MLO2" + d[4:], lambda d: d[:4] + bytes(4) + d[8:]])
def test_a_damaged_locator_is_refused(damage: object) -> None:
    data = encode_locator([BlobPlace(bytes(32), PACK_ID, 0, 1, 1, 0)])
    with pytest.raises(BadFormat):
        decode_locator(damage(data))  # type: ignore[operator]


def test_no_locator_is_written_that_no_reader_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    places = [BlobPlace(digest_of(bytes([number])), "ab" * 16, number, 1, 1, RAW) for number in range(9)]
    size = len(encode_locator(places))
    monkeypatch.setattr(locators, "LOCATOR_MOST", size)
    assert len(unpack_locator(pack_locator(places))) == 9
    monkeypatch.setattr(locators, "LOCATOR_MOST", size - 1)
    with pytest.raises(BadFormat, match="more chunks"):
        pack_locator(places)
