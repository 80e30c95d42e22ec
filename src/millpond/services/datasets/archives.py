"""A directory of a commit as a zip file, made while it is sent.

The tree is walked in order and cut into steps of a few megabytes; two threads read and pack the next steps while one
is being sent. Whoever stops reading stops the work, and what is damaged ends the stream before its directory, so that
no program takes half an archive for a whole one.
"""

from __future__ import annotations

import re
import stat
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import TypeVar

from millpond.blobs.store import Buffer
from millpond.errors import Corrupt, NotFound
from millpond.lake.encoding import RAW, decode_blob
from millpond.lake.keys import ProjectKeys
from millpond.lake.ranges import segments
from millpond.lake.reader import range_of
from millpond.model.dataset import BlobPlace, Commit, Dataset
from millpond.model.path import to_text
from millpond.model.tree import NO_DIGEST, Content, Entry, Kind
from millpond.services.datasets import external, files
from millpond.services.datasets.reading import directory_path, reader_of
from millpond.services.datasets.zip_format import Packed, ZipWriter, pack
from millpond.services.deps import Deps

_THREADS = 2
_AHEAD = 4
_STEP_BYTES = 4 << 20
_STEP_ENTRIES = 1000
_MODES = {
    Kind.DIRECTORY: stat.S_IFDIR | 0o755,
    Kind.SYMLINK: stat.S_IFLNK | 0o777,
    Kind.FILE: stat.S_IFREG | 0o644,
    Kind.EXECUTABLE: stat.S_IFREG | 0o755,
}
_NOTHING = pack(b"", shrinks=False)
# What some program could not write, or would take for a way out of the folder it unpacks into: control characters,
# bytes that are not UTF-8, backslashes, and parts of nothing but dots and spaces. And what looks like such an escape
# itself: `new\nline` and `new%0Aline` stay two names.
_ODD = re.compile(r"[\x00-\x1f\x7f\\\udc80-\udcff]|%(?=[0-9A-Fa-f]{2})|(?<![^/])[. ]+(?![^/])")

T = TypeVar("T")
# Gives the bytes of what has been read.
_Write = Callable[[], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class Archive:
    """`name` is the file's; `content` can be read once. Must be closed, read or not."""

    name: str
    content: Iterator[bytes]
    close: Callable[[], None]


def open_archive(deps: Deps, dataset: Dataset, commit: Commit, path: str) -> Archive:
    """Everything below a directory, in a folder of its name. NotFound if it is none.

    The first files have been read when it returns, so that what is wrong from the beginning is an error and no stream.
    """
    directory = directory_path(path)
    if not reader_of(deps, dataset, commit).is_directory(directory):
        raise NotFound(f"No directory {to_text(directory)!r} in this commit.")
    top = safe_name(directory.rpartition(b"/")[2]) if directory else dataset.name.lstrip(".")
    top = top.replace(":", "%3A")  # at the beginning of a name it could be a drive
    content = _Stream(deps, dataset, commit, directory, top).chunks()
    begun = list(islice(content, 2))
    return Archive(f"{top}.zip" if directory else f"{top}-{commit.id[:8]}.zip", chain(begun, content), content.close)


def safe_name(path: bytes) -> str:
    """A path that every program unpacks to where it belongs: what is odd in it is written `%NN`.

    `urllib.parse.unquote_to_bytes` gives the path back, so no two paths share a name.
    """
    return _ODD.sub(_escape, path.decode("utf-8", "surrogateescape"))


def _escape(odd: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in odd[0].encode("utf-8", "surrogateescape"))


@dataclass
class _Step:
    """Small entries that are read together, and where their blobs lie."""

    entries: list[Entry] = field(default_factory=list)
    places: dict[bytes, BlobPlace] = field(default_factory=dict)
    size: int = 0

    def add(self, entry: Entry, places: Mapping[bytes, BlobPlace]) -> None:
        self.entries.append(entry)
        if entry.content is not Content.NOTHING and entry.digest not in self.places:
            self.places[entry.digest] = files.place_of(places, entry.digest)
            self.size += entry.size

    @property
    def is_full(self) -> bool:
        return self.size >= _STEP_BYTES or len(self.entries) >= _STEP_ENTRIES


class _Stream:
    def __init__(self, deps: Deps, dataset: Dataset, commit: Commit, directory: bytes, top: str) -> None:
        self._deps = deps
        self._keys = ProjectKeys(dataset.project_id)
        self._reader = reader_of(deps, dataset, commit)
        self._low, self._high = range_of(directory)
        self._top = top
        self._zip = ZipWriter(commit.time)
        self._pool = ThreadPoolExecutor(_THREADS, "zip")

    def chunks(self) -> Generator[bytes, None, None]:
        try:
            yield b"".join(self._zip.add(f"{self._top}/", _MODES[Kind.DIRECTORY], _NOTHING))
            for write in self._ahead(self._tasks()):
                yield from write()
            yield from self._zip.finish()
        finally:
            # Without waiting: whoever closes this may be the event loop.
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._zip.close()

    def _ahead(self, tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
        """Results in order, with a few tasks under way."""
        under_way: deque[Future[T]] = deque()
        for task in tasks:
            under_way.append(self._pool.submit(task))
            if len(under_way) > _AHEAD:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()

    def _tasks(self) -> Iterator[Callable[[], _Write]]:
        step = _Step()
        for entry, places in self._entries():
            if entry.content in (Content.CHUNKS, Content.EXTERNAL):
                yield partial(self._read_step, step)
                yield partial(self._read_large, entry, places)
                step = _Step()
                continue
            step.add(entry, places)
            if step.is_full:
                yield partial(self._read_step, step)
                step = _Step()
        yield partial(self._read_step, step)

    def _entries(self) -> Iterator[tuple[Entry, Mapping[bytes, BlobPlace]]]:
        """Everything below the directory, each with the locator of its leaf."""
        for ref in self._reader.leaves(self._low, self._high):
            leaf = self._reader.leaf(ref.id)
            start = bisect_left(leaf.paths, self._low)
            end = len(leaf) if self._high is None else bisect_left(leaf.paths, self._high)
            if start < end:
                places = files.locator_of(self._deps, self._keys, ref.id)
                yield from ((entry, places) for entry in leaf.entries(start, end))

    def _read_step(self, step: _Step) -> _Write:
        """Read few long ranges and pack what they hold."""
        packed = {NO_DIGEST: _NOTHING}
        for segment in segments(step.places.values()):
            key = self._keys.pack(segment.pack_id)
            view = memoryview(self._deps.store.get_range(key, segment.start, segment.end))
            for place in segment.places:
                at = place.offset - segment.start
                try:
                    data = decode_blob(place.digest, place.encoding, view[at : at + place.stored], place.raw)
                except Corrupt:  # perhaps on the way: what the store holds decides
                    data = files.read_blob(self._deps, self._keys, place)
                # Whether content shrinks, the lake found out when it was stored.
                packed[place.digest] = pack(data, shrinks=place.encoding != RAW)
        return partial(self._write_step, step.entries, packed)

    def _write_step(self, entries: Iterable[Entry], packed: Mapping[bytes, Packed]) -> Iterator[bytes]:
        parts: list[Buffer] = []
        for entry in entries:
            name = self._name(entry)
            parts += self._zip.add(name, _MODES[entry.kind], packed[entry.digest])
        if parts:
            yield b"".join(parts)

    def _read_large(self, entry: Entry, places: Mapping[bytes, BlobPlace]) -> _Write:
        if entry.content is Content.EXTERNAL:
            return partial(self._write_external, entry, places)
        pieces = files.pieces_of(self._deps, self._keys, places, entry)
        if sum(piece.place.raw for piece in pieces) != entry.size:
            raise Corrupt(f"The chunks of {to_text(entry.path)!r} do not add up to its size.")
        return partial(self._write_large, entry, [piece.place for piece in pieces])

    def _write_large(self, entry: Entry, places: Sequence[BlobPlace]) -> Iterator[bytes]:
        chunks = self._ahead(partial(files.read_blob, self._deps, self._keys, place) for place in places)
        shrinks = places[0].encoding != RAW
        return self._zip.add_large(self._name(entry), _MODES[entry.kind], entry.size, chunks, shrinks=shrinks)

    def _write_external(self, entry: Entry, places: Mapping[bytes, BlobPlace]) -> Iterator[bytes]:
        chunks = external.read(self._deps, self._keys.project_id, places, entry, 0, entry.size)
        return self._zip.add_large(self._name(entry), _MODES[entry.kind], entry.size, chunks, shrinks=False)

    def _name(self, entry: Entry) -> str:
        name = f"{self._top}/{safe_name(entry.path[len(self._low) :])}"
        return f"{name}/" if entry.kind is Kind.DIRECTORY else name
