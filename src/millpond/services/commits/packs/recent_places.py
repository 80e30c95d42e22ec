"""Where the blobs of packs lie that came a moment ago: a commit follows its packs and names every blob of them.

A shortcut and nothing else: whether a pack may be built on is asked of the database each time, and so is what is not
found here.
"""

from __future__ import annotations

import threading
from array import array
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from millpond.lake.digests import DIGEST_SIZE
from millpond.lake.lru import Kept
from millpond.model.dataset import BlobPlace, place_of

RECENT_BYTES = 32 << 20
# Places that are kept as such: those of some packs, since a commit goes through them one after the other.
_OPEN_MOST = 32_000
# Every so many blobs of a pack there is one that leads to it: neighbours in a tree are mostly neighbours in a pack.
_SIGNPOST_EVERY = 32
# Packs that are looked at for one leaf: where content is scattered over more, the database is as quick.
_PACKS_MOST = 4


@dataclass(frozen=True, slots=True)
class _Index:
    """The index of a pack in columns, 45 bytes for each blob."""

    project_id: str
    pack_id: str
    digests: bytes
    numbers: tuple[array[int], array[int], array[int]]
    encodings: bytes

    @property
    def weight(self) -> int:
        return len(self.encodings) * (DIGEST_SIZE + 13)

    def signposts(self) -> Sequence[bytes]:
        step = _SIGNPOST_EVERY * DIGEST_SIZE
        return [self.digests[at : at + DIGEST_SIZE] for at in range(0, len(self.digests), step)]

    def places(self) -> dict[bytes, BlobPlace]:
        digests = [self.digests[at : at + DIGEST_SIZE] for at in range(0, len(self.digests), DIGEST_SIZE)]
        rows = zip(digests, [self.pack_id] * len(digests), *self.numbers, self.encodings, strict=True)
        return dict(zip(digests, map(place_of, rows), strict=True))


class RecentPlaces:
    """The indexes of packs, the oldest out first. Safe for threads. What was noted of a pack stays true."""

    def __init__(self, most_bytes: int = RECENT_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._indexes: OrderedDict[str, _Index] = OrderedDict()
        self._bytes = 0
        self._leads_to: dict[bytes, _Index] = {}
        self._open = Kept[str, Mapping[bytes, BlobPlace]](_OPEN_MOST, weigh=len)

    def note(self, project_id: str, places: Sequence[BlobPlace]) -> None:
        """All the blobs of one pack, which has become live."""
        if not places:
            return
        digests, packs, offsets, stored, raw, encodings = zip(*places, strict=True)
        numbers = array("I", offsets), array("I", stored), array("I", raw)
        index = _Index(project_id, packs[0], b"".join(digests), numbers, bytes(encodings))
        with self._lock:
            if index.pack_id in self._indexes:
                return
            self._indexes[index.pack_id] = index
            self._leads_to.update(dict.fromkeys(index.signposts(), index))
            self._bytes += index.weight
            while self._bytes > self._most:
                self._forget(self._indexes.popitem(last=False)[1])

    def find(self, project_id: str, digests: Collection[bytes]) -> dict[bytes, BlobPlace]:
        """Those of these blobs that are known to lie in packs of the project, and where."""
        with self._lock:
            indexes = Counter(index.pack_id for digest in digests if (index := self._leads_to.get(digest)))
            chosen = [self._indexes[pack_id] for pack_id, _ in indexes.most_common(_PACKS_MOST)]
        found: dict[bytes, BlobPlace] = {}
        for index in chosen:
            if index.project_id == project_id:
                places = self._opened(index)
                found.update({digest: places[digest] for digest in digests if digest in places})
        return found

    def _opened(self, index: _Index) -> Mapping[bytes, BlobPlace]:
        places = self._open.get(index.pack_id)
        if places is None:
            places = index.places()
            self._open.put(index.pack_id, places)
        return places

    def _forget(self, index: _Index) -> None:
        self._bytes -= index.weight
        for digest in index.signposts():
            if self._leads_to.get(digest) is index:
                del self._leads_to[digest]
