"""BLAKE3-256, the name of everything in the lake."""

from __future__ import annotations

from blake3 import blake3

from millpond.blobs.store import Buffer
from millpond.errors import Corrupt

DIGEST_SIZE = 32


def digest_of(data: Buffer) -> bytes:
    return blake3(data).digest()


def id_of(data: Buffer) -> str:
    """The digest in hex, as pages and commits are named."""
    return blake3(data).hexdigest()


def check_id(expected: str, data: Buffer, noun: str) -> None:
    if id_of(data) != expected:
        raise Corrupt(f"The bytes of {noun} {expected[:12]} do not match its id.")
