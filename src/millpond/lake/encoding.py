"""How one blob is stored: as it is, or as a zstd frame where a sample says that it pays."""

from __future__ import annotations

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat, Corrupt
from millpond.lake import frames
from millpond.lake.digests import digest_of

RAW = 0
ZSTD = 1

# Below this a frame saves nothing worth the time to open it.
_LEAST = 256
_SAMPLE = 4096
# Stored bytes per raw byte above which compression is not worth it.
_PAYS = 0.9

_IN_VAIN_MOST = 32
_TRY_EVERY = 8

# How formats begin that are compressed already: trying again costs time and saves nothing.
_COMPRESSED = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",  # JPEG
    b"GIF8",
    b"\x1f\x8b",  # gzip
    b"\x28\xb5\x2f\xfd",  # zstd
    b"\xfd7zXZ\x00",
    b"BZh",
    b"PK\x03\x04",  # zip, npz, docx, torch
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
    b"\x04\x22\x4d\x18",  # lz4
    b"PAR1",  # Parquet
    b"OggS",
    b"fLaC",
    b"ID3",  # MP3
    b"\x1aE\xdf\xa3",  # Matroska, WebM
)
# What begins otherwise, as most does, need not be compared with each of them.
_FIRST_BYTES = frozenset({*(head[:1] for head in _COMPRESSED), b"R"})


def encode_blob(raw: Buffer) -> tuple[int, Buffer]:
    """The encoding and the bytes to store. Never longer than `raw`."""
    return (RAW, raw) if len(raw) < _LEAST or is_compressed(raw) else _tried(raw)


def _tried(raw: Buffer) -> tuple[int, Buffer]:
    if len(raw) > 2 * _SAMPLE:
        middle = len(raw) // 2
        sample = memoryview(raw)[middle : middle + _SAMPLE]
        if len(frames.compress(sample)) > _PAYS * _SAMPLE:
            return RAW, raw
    stored = frames.compress(raw)
    return (ZSTD, stored) if len(stored) <= _PAYS * len(raw) else (RAW, raw)


class BlobEncoder:
    """Encodes blobs that come one after another: files beside each other are mostly of one kind.

    Where many in a row were tried in vain, only some of the next are tried, until one pays.
    """

    def __init__(self) -> None:
        self._in_vain = 0

    def encode(self, raw: Buffer) -> tuple[int, Buffer]:
        if len(raw) < _LEAST or is_compressed(raw):
            return RAW, raw
        if self._in_vain >= _IN_VAIN_MOST and self._in_vain % _TRY_EVERY:
            self._in_vain += 1
            return RAW, raw
        encoding, stored = _tried(raw)
        self._in_vain = 0 if encoding == ZSTD else self._in_vain + 1
        return encoding, stored


def decode_blob(digest: bytes, encoding: int, stored: Buffer, raw_length: int) -> Buffer:
    """The raw bytes of a blob, every one of them checked; Corrupt if they are not what `digest` names."""
    try:
        raw = stored if encoding == RAW else _opened(encoding, stored, raw_length)
    except BadFormat as error:
        raise Corrupt(f"Blob {digest.hex()[:12]} is damaged: {error.message}") from error
    if len(raw) != raw_length or digest_of(raw) != digest:
        raise Corrupt(f"The bytes of blob {digest.hex()[:12]} do not match its digest.")
    return raw


def is_compressed(raw: Buffer) -> bool:
    head = bytes(raw[:16])
    if head[:1] in _FIRST_BYTES and (head.startswith(_COMPRESSED) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")):
        return True
    return head[4:8] == b"ftyp"


def _opened(encoding: int, stored: Buffer, raw_length: int) -> bytes:
    if encoding != ZSTD:
        raise BadFormat(f"unknown encoding {encoding}.")
    return frames.decompress(stored, raw_length)
