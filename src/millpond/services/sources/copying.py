"""Copying objects of a place into the lake. A run that is cut off loses a minute: what it had copied is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from millpond.blobs.external import ExternalPlace, same_etag
from millpond.db import uploads
from millpond.lake.chunks import WHOLE_MOST
from millpond.lake.packer import Packer
from millpond.lake.streaming import entry_of_stream
from millpond.model.connection import ExternalObject
from millpond.model.source import SourceObject
from millpond.model.tree import Content, Entry, Kind
from millpond.services.commits.uploads.server import ServerUploader
from millpond.services.deps import Deps

NOTED_EVERY = timedelta(minutes=1)
_PARALLEL = 8
_BATCH = 64

Note = Callable[[Sequence[SourceObject]], None]


def is_same(known: SourceObject | None, found: ExternalObject) -> bool:
    """Whether the object is the one that was copied then. Never, where its place gives no strong ETag."""
    return known is not None and known.size == found.size and same_etag(known.etag, found.etag)


@dataclass
class Copier:
    """`before` is what earlier runs have copied, committed or not; `note` keeps it for the next one."""

    deps: Deps
    place: ExternalPlace
    uploader: ServerUploader
    objects: Mapping[bytes, ExternalObject]
    before: Mapping[bytes, SourceObject]
    note: Note
    still_wanted: Callable[[], None]
    # Everything is read anew: some of what was noted is not in the lake any more.
    from_the_beginning: bool = False
    _unnoted: list[SourceObject] = field(default_factory=list)
    # Uploads of runs that were cut off: their packs stay as long as this run needs them.
    _earlier: set[str] = field(default_factory=set)

    def entries(self, paths: Sequence[bytes], packer: Packer) -> Iterator[Entry]:
        """An entry for each path. Small objects are read several at a time, large ones cut as they come."""
        noted_at = self.deps.clock.now()
        with ThreadPoolExecutor(_PARALLEL, "import-copy") as pool:
            for start in range(0, len(paths), _BATCH):
                batch = paths[start : start + _BATCH]
                there = self._there(batch)
                new = [path for path in batch if path not in there]
                small = {path: pool.submit(self._whole, path) for path in new if self._size(path) <= WHOLE_MOST}
                for path in batch:
                    found = self.objects[path]
                    if path in there:
                        yield there[path]
                        continue
                    parts = iter([small[path].result()]) if path in small else self.place.read(found, 0, found.size)
                    entry = entry_of_stream(path, found.size, parts, packer.add, sha256=found.sha256)
                    yield entry
                    noted_at = self._copied(entry, found, packer, noted_at)
                self._stay()
                self.still_wanted()

    def _there(self, paths: Sequence[bytes]) -> dict[bytes, Entry]:
        """Those that a run has copied which was cut off before its commit."""
        if self.from_the_beginning:
            return {}
        same = [path for path in paths if is_same(self.before.get(path), self.objects[path])]
        entries = {path: _entry(self.before[path]) for path in same}
        digests = list(dict.fromkeys(entry.digest for entry in entries.values() if entry.size))
        missing = {digest for digest, lacks in zip(digests, self.uploader.missing(digests), strict=True) if lacks}
        with self.deps.db.read() as tx:
            self._earlier |= uploads.holding(tx, self.uploader.upload.project_id, digests)
        return {path: entry for path, entry in entries.items() if entry.digest not in missing}

    def _copied(self, entry: Entry, found: ExternalObject, packer: Packer, noted_at: datetime) -> datetime:
        """Note now and then what came, once it is in the lake. When that was last done.

        Not what replaces something this source has committed: its note still tells whose that is.
        """
        if entry.path not in self.before and found.etag is not None:
            self._unnoted.append(SourceObject(entry.path, found.etag, entry.size, entry.digest))
        now = self.deps.clock.now()
        if now - noted_at < NOTED_EVERY or not self._unnoted:
            return noted_at
        packer.finish()
        self.still_wanted()
        self.note(self._unnoted)
        self._unnoted = []
        return now

    def _stay(self) -> None:
        if self._earlier:
            now = self.deps.clock.now()
            with self.deps.db.write() as tx:
                for upload_id in self._earlier:
                    uploads.touch(tx, upload_id, now)

    def _size(self, path: bytes) -> int:
        return self.objects[path].size

    def _whole(self, path: bytes) -> bytes:
        found = self.objects[path]
        return b"".join(self.place.read(found, 0, found.size))


def _entry(known: SourceObject) -> Entry:
    if not known.size:
        return Entry(known.path, Kind.FILE)
    content = Content.BLOB if known.size <= WHOLE_MOST else Content.CHUNKS
    return Entry(known.path, Kind.FILE, known.size, content, known.digest)
