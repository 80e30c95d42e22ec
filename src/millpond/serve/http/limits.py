"""How much one client may ask of a server."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds. A client that exceeds one gets an error and loses its connection."""

    connections: int = 4096
    header_bytes: int = 32 * 1024
    header_count: int = 128
    # Of the body as sent, and again as it is after decompression.
    body_bytes: int = 256 * MIB
    # Of all bodies that are being received or answered together.
    buffered_bytes: int = 2048 * MIB
    # From the first byte of a request to the end of its headers.
    header_seconds: float = 15.0
    # A body may take this long, and a second more for every `body_rate` bytes that arrived.
    body_seconds: float = 30.0
    body_rate: int = 16 * 1024
    # A client that does not read its answer.
    write_seconds: float = 60.0
    # Between two requests of a connection.
    idle_seconds: float = 300.0
    # Requests read ahead while one is answered.
    pipelined: int = 16
