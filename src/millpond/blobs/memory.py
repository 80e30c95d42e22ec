"""A store in memory, for tests and for looking at the lake without one."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace

from millpond.blobs.location import Location
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import CRC32_HEADER, BlobInfo, Buffer, SignedUrl, check_key, check_prefix
from millpond.errors import BadRequest, Conflict, NotFound, SetupError


class MemoryStore:
    """BlobStore on a dictionary. Copies on the way in, so a caller may reuse its buffer."""

    signed_puts_only_create = True  # the server itself answers them

    def __init__(self, signer: LocalSigner | None = None) -> None:
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()
        self._signer = signer

    def get(self, key: str) -> bytes:
        with self._lock:
            data = self._objects.get(check_key(key))
        if data is None:
            raise NotFound(f"The lake has no object {key!r}.")
        return data

    def get_range(self, key: str, start: int, end: int) -> bytes:
        data = self.get(key)
        if not 0 <= start <= end <= len(data):
            raise BadRequest(f"Object {key!r} has {len(data)} bytes, not {start} to {end}.")
        return data[start:end]

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        copy = bytes(data)
        with self._lock:
            if if_absent and key in self._objects:
                raise Conflict(f"Object {key!r} already exists.")
            self._objects[check_key(key)] = copy

    def head(self, key: str) -> BlobInfo | None:
        with self._lock:
            data = self._objects.get(check_key(key))
        return None if data is None else BlobInfo(key, len(data))

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[BlobInfo]:
        check_prefix(prefix)
        with self._lock:
            found = [BlobInfo(key, len(data)) for key, data in self._objects.items() if key.startswith(prefix)]
        found.sort(key=lambda info: info.key)
        return iter([info for info in found if after is None or info.key > after])

    def delete(self, key: str) -> None:
        with self._lock:
            self._objects.pop(check_key(key), None)

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        if self._signer is None:
            raise SetupError("This store has no secret to sign URLs with.")
        return self._signer.sign(method, key, seconds)

    def sign_create(self, key: str, seconds: int, crc32: str = "") -> SignedUrl:
        """Without CREATE_HEADER: the server that answers never overwrites."""
        return replace(self.sign("PUT", key, seconds), headers={CRC32_HEADER: crc32} if crc32 else {})


def open_store(location: Location, environment: Mapping[str, str], signer: LocalSigner | None) -> MemoryStore:
    return MemoryStore(signer)
