"""The contents of files of a commit, read for many small ones at once and for large ones piece by piece."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from millpond.errors import Conflict, Corrupt, Forbidden, NotFound, StoreUnavailable, Unavailable
from millpond.lake.encoding import decode_blob
from millpond.lake.keys import ProjectKeys
from millpond.lake.ranges import segments
from millpond.model.dataset import BlobPlace
from millpond.model.path import to_text
from millpond.model.tree import Content, Entry
from millpond.services.datasets import external, files
from millpond.services.deps import Deps


@dataclass(frozen=True, slots=True)
class Located:
    """An entry and the leaf that holds it: the locator of the leaf says where the content lies."""

    entry: Entry
    leaf: str


class Whole:
    """What a small file holds, in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        return iter([self._data] if self._data else [])

    def md5(self) -> str:
        return hashlib.md5(self._data, usedforsecurity=False).hexdigest()


class Streamed:
    """What a large or an external file holds. It is read anew each time that it is gone through: once for its MD5,
    which must be known before it is sent, and once to send it."""

    def __init__(self, deps: Deps, project_id: str, entry: Entry, places: Mapping[bytes, BlobPlace]) -> None:
        self._deps, self._project_id, self._entry, self._places = deps, project_id, entry, places

    def __iter__(self) -> Iterator[bytes]:
        """Unavailable for whatever keeps it from being read: that is no fault of the place where it goes."""
        try:
            yield from self._parts()
        except (Conflict, Forbidden, NotFound, StoreUnavailable) as error:
            raise Unavailable(f"It cannot be read: {error.message}", hint=error.hint) from error

    def _parts(self) -> Iterator[bytes]:
        entry, keys = self._entry, ProjectKeys(self._project_id)
        if entry.content is Content.EXTERNAL:
            yield from external.read(self._deps, self._project_id, self._places, entry, 0, entry.size)
            return
        for piece in files.pieces_of(self._deps, keys, self._places, entry):
            yield bytes(files.read_blob(self._deps, keys, piece.place))

    def md5(self) -> str:
        """Corrupt if the content does not have the size of its entry."""
        digest, size = hashlib.md5(usedforsecurity=False), 0
        for part in self:
            digest.update(part)
            size += len(part)
        if size != self._entry.size:
            raise Corrupt(f"The chunks of {to_text(self._entry.path)!r} do not add up to its size.")
        return digest.hexdigest()


class CommitContents:
    """Belongs to one thread; what it gives may be read by others."""

    def __init__(self, deps: Deps, project_id: str) -> None:
        self._deps, self._project_id, self._keys = deps, project_id, ProjectKeys(project_id)
        self._leaf, self._places = "", dict[bytes, BlobPlace]()

    def of(self, wanted: Sequence[Located]) -> list[Whole | Streamed | Corrupt]:
        """In the order of `wanted`; Corrupt in the place of what the lake has damaged or lost."""
        located = [(one.entry, self._locator(one.leaf)) for one in wanted]
        small: dict[bytes, BlobPlace] = {}
        for entry, places in located:
            if entry.content is Content.BLOB and entry.digest in places:
                small[entry.digest] = places[entry.digest]
        blobs = self._blobs(small)
        return [self._one(entry, places, blobs) for entry, places in located]

    def _one(
        self, entry: Entry, places: Mapping[bytes, BlobPlace], blobs: Mapping[bytes, bytes | Corrupt]
    ) -> Whole | Streamed | Corrupt:
        if entry.content is Content.NOTHING:
            return Whole(b"")
        if entry.content is not Content.BLOB:
            return Streamed(self._deps, self._project_id, entry, places)
        found = blobs.get(entry.digest, Corrupt(f"No locator for blob {entry.digest.hex()[:12]}."))
        return found if isinstance(found, Corrupt) else Whole(found)

    def _locator(self, leaf: str) -> Mapping[bytes, BlobPlace]:
        """Entries come in the order of the tree: one is asked for again and again, and then never more."""
        if leaf != self._leaf:
            self._places = dict(files.locator_of(self._deps, self._keys, leaf))
            self._leaf = leaf
        return self._places

    def _blobs(self, small: Mapping[bytes, BlobPlace]) -> dict[bytes, bytes | Corrupt]:
        """Few long ranges of packs."""
        found: dict[bytes, bytes | Corrupt] = {}
        for segment in segments(small.values()):
            key = self._keys.pack(segment.pack_id)
            try:
                view = memoryview(self._deps.store.get_range(key, segment.start, segment.end))
            except NotFound as error:
                lost = Corrupt(f"The lake has lost pack {segment.pack_id[:12]}: {error.message}")
                found |= {place.digest: lost for place in segment.places}
                continue
            for place in segment.places:
                at = place.offset - segment.start
                try:
                    data = decode_blob(place.digest, place.encoding, view[at : at + place.stored], place.raw)
                    found[place.digest] = bytes(data)
                except Corrupt:  # perhaps on the way: what the store holds decides
                    found[place.digest] = self._again(place)
        return found

    def _again(self, place: BlobPlace) -> bytes | Corrupt:
        try:
            return bytes(files.read_blob(self._deps, self._keys, place))
        except Corrupt as error:
            return error
