"""Large request bodies: kept in a temporary file, so that many of them at once take little memory."""

from __future__ import annotations

import mmap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

# What is gathered before it is written: a part of a body has some kilobytes.
_PIECE = 1 << 20


@asynccontextmanager
async def received(request: Request, directory: Path) -> AsyncIterator[memoryview]:
    """The whole body; valid until the end of the block. `directory` is where the file is made."""
    with TemporaryFile(dir=directory, buffering=0) as file:
        size = await _write(request, file)
        if not size:
            yield memoryview(b"")
            return
        with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as body:
            yield body


async def _write(request: Request, file: BinaryIO) -> int:
    size = 0
    piece = bytearray()
    async for part in request.stream():
        piece += part
        if len(piece) >= _PIECE:
            size += await run_in_threadpool(_write_all, file, bytes(piece))
            piece.clear()
    return size + await run_in_threadpool(_write_all, file, bytes(piece))


def _write_all(file: BinaryIO, data: bytes) -> int:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    return len(data)
