"""A backup's content as one stream of bytes, kept as parts of at most 16 MiB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256

from millpond.blobs.store import BlobStore
from millpond.errors import Corrupt, NotFound
from millpond.services.backups.encryption import Keys
from millpond.services.backups.manifest import Manifest, Part, part_key

PART_BYTES = 16 << 20

PutPart = Callable[[int, bytes], None]


class PartWriter:
    """A file to write to; `put` gets each part as soon as it is full, and the last one with `finish`."""

    def __init__(self, put: PutPart, keys: Keys | None, *, part_bytes: int = PART_BYTES) -> None:
        self.parts: list[Part] = []
        self._put = put
        self._keys = keys
        self._size = part_bytes
        self._waiting = bytearray()

    def write(self, data: bytes) -> int:
        self._waiting += data
        while len(self._waiting) > self._size:
            self._send(bytes(self._waiting[: self._size]), is_last=False)
            del self._waiting[: self._size]
        return len(data)

    def flush(self) -> None:
        """Nothing is sent before a part is full."""

    def finish(self) -> None:
        self._send(bytes(self._waiting), is_last=True)
        self._waiting.clear()

    def _send(self, data: bytes, *, is_last: bool) -> None:
        number = len(self.parts)
        if self._keys is not None:
            data = self._keys.encrypt(data, number, is_last=is_last)
        self._put(number, data)
        self.parts.append(Part(len(data), sha256(data).hexdigest()))


class PartReader:
    """A file to read the content from. Corrupt for a part that is missing or not what the manifest says."""

    def __init__(self, store: BlobStore, manifest: Manifest, keys: Keys | None) -> None:
        self._content = _contents(store, manifest, keys)
        self._waiting = b""
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            rest = self._waiting[self._at :] + b"".join(self._content)
            self._waiting, self._at = b"", 0
            return rest
        while self._at >= len(self._waiting):
            following = next(self._content, None)
            if following is None:
                return b""
            self._waiting, self._at = following, 0
        found = self._waiting[self._at : self._at + size]
        self._at += len(found)
        return found


def _contents(store: BlobStore, manifest: Manifest, keys: Keys | None) -> Iterator[bytes]:
    for number, part in enumerate(manifest.parts):
        key = part_key(manifest.backup.id, number)
        try:
            data = store.get(key)
        except NotFound as error:
            raise Corrupt(
                f"Part {number} of backup {manifest.backup.id} is missing.", hint="Choose another."
            ) from error
        if len(data) != part.size or sha256(data).hexdigest() != part.sha256:
            raise Corrupt(
                f"Part {number} of backup {manifest.backup.id} is damaged: its bytes do not match their digest.",
                hint="Choose another backup.",
            )
        if keys is not None:
            data = keys.decrypt(data, number, is_last=number == len(manifest.parts) - 1)
        yield data
