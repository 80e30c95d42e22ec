"""Single zstd frames, compressed and opened with a bound on what comes out."""

from __future__ import annotations

import threading

import zstandard

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat

_LEVEL = 3


class _Contexts(threading.local):
    """zstd contexts are costly to make and belong to one thread at a time."""

    def __init__(self) -> None:
        # The checksum finds damage in locators, whose bytes no digest names.
        self.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        self.decompressor = zstandard.ZstdDecompressor()


_contexts = _Contexts()


def compress(data: Buffer) -> bytes:
    """One frame that names its content size and ends with a checksum."""
    return _contexts.compressor.compress(data)


def decompress(frame: Buffer, most: int) -> bytes:
    """What one frame holds; BadFormat if it is damaged, more than one, or opens to more than `most` bytes."""
    try:
        size = zstandard.get_frame_parameters(frame).content_size
        if size > most:  # also refuses a frame without content size, which zstandard gives as 2^64 - 1
            raise BadFormat(f"A compressed frame would open to more than {most} bytes.")
        data = _contexts.decompressor.decompress(frame, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BadFormat(f"A compressed frame is damaged: {error}.") from error
    if len(data) != size:
        raise BadFormat("A compressed frame does not hold what it says.")
    return data
