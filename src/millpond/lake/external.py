"""Descriptors of external entries: where the content of a file lies outside the lake, and what it must be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from millpond.blobs.external import strong
from millpond.blobs.store import Buffer
from millpond.errors import BadFormat
from millpond.lake.documents import FORMAT, decode_document, encode_document
from millpond.model.connection import ExternalObject

_SHA256 = re.compile(r"[0-9a-f]{64}")
DESCRIPTOR_MOST = 16 << 10


@dataclass(frozen=True, slots=True)
class Descriptor:
    """`connection` is the name of a connection of the entry's project."""

    connection: str
    uri: str
    size: int
    etag: str
    sha256: str | None = None


def describe(connection: str, found: ExternalObject) -> Descriptor:
    """BadFormat for an object whose changes nobody would notice."""
    if found.etag is None:
        raise BadFormat("Its place gives no strong ETag, so a change would go unnoticed.")
    return Descriptor(connection, found.uri, found.size, found.etag, found.sha256)


def encode_descriptor(descriptor: Descriptor) -> bytes:
    document: dict[str, Any] = {
        "connection": descriptor.connection,
        "etag": descriptor.etag,
        "format": FORMAT,
        "size": descriptor.size,
        "uri": descriptor.uri,
    }
    if descriptor.sha256 is not None:
        document["sha256"] = descriptor.sha256
    return encode_document(document)


def decode_descriptor(data: Buffer) -> Descriptor:
    """BadFormat unless `data` is a descriptor and nothing else."""
    if len(data) > DESCRIPTOR_MOST:
        raise BadFormat("A descriptor is too long.")
    document = decode_document(data, "descriptor")
    size, sha256 = document.get("size"), document.get("sha256")
    texts = [document.get(name) for name in ("connection", "uri", "etag")]
    known = {"connection", "etag", "format", "sha256", "size", "uri"}
    if not all(isinstance(text, str) and text for text in texts) or document.keys() - known:
        raise BadFormat("A descriptor does not have the right shape.")
    if strong(str(texts[2])) is None:
        raise BadFormat("A descriptor has no strong ETag.")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 < size < 1 << 63:
        raise BadFormat("A descriptor has an impossible size.")
    if sha256 is not None and not (isinstance(sha256, str) and _SHA256.fullmatch(sha256)):
        raise BadFormat("A descriptor has an impossible digest.")
    return Descriptor(str(texts[0]), str(texts[1]), size, str(texts[2]), sha256)
