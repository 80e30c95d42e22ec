"""Bodies in gzip and deflate, both ways, never more than a limit."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence

from ..errors import ServeError
from .message import Buffer

# Above this a body is compressed or decompressed in another thread: even the worst one of this size takes few ms.
INLINE_BYTES = 4096


def decompress(body: Buffer, encoding: str, limit: int) -> bytes:
    """The body without its Content-Encoding; 413 if that is more than `limit`, 400 if it is broken."""
    if encoding in ("", "identity"):
        return bytes(body)
    if encoding in ("gzip", "x-gzip"):
        return _inflate(body, 31, limit)
    if encoding == "deflate":
        # RFC 9110 means the zlib format; some clients send the bare stream.
        return _inflate(body, 15 if _is_zlib(body) else -15, limit)
    raise ServeError(400, f"Content-Encoding {encoding!r} is not supported: send gzip, deflate or no encoding")


def compress(parts: Sequence[Buffer], encoding: str) -> bytes:
    body = b"".join(parts)
    return gzip.compress(body, compresslevel=1, mtime=0) if encoding == "gzip" else zlib.compress(body, 1)


def choose_encoding(accepted: str) -> str | None:
    """The encoding to answer with: what the client weighs highest of gzip and deflate, or None."""
    best: tuple[float, str] | None = None
    for entry in accepted.lower().split(","):
        name, _, parameter = entry.partition(";")
        name = name.strip()
        if name not in ("gzip", "deflate"):
            continue
        weight = _weight(parameter)
        if weight > 0 and (best is None or weight > best[0]):
            best = (weight, name)
    return best[1] if best else None


def _weight(parameter: str) -> float:
    key, _, value = parameter.strip().partition("=")
    if key.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


def _is_zlib(body: Buffer) -> bool:
    return len(body) >= 2 and body[0] & 0x0F == 8 and (body[0] * 256 + body[1]) % 31 == 0


def _inflate(body: Buffer, window: int, limit: int) -> bytes:
    stream = zlib.decompressobj(window)
    try:
        whole = stream.decompress(body, limit + 1)
    except zlib.error as error:
        raise ServeError(400, f"cannot decompress the request body: {error}") from None
    if len(whole) > limit:
        raise ServeError(413, f"request body is larger than {limit} bytes after decompression")
    if not stream.eof:
        raise ServeError(400, "cannot decompress the request body: it ends too early")
    if stream.unused_data:
        raise ServeError(400, "cannot decompress the request body: data follows its end")
    return whole
