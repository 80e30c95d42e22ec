"""Fetching a tree: read packs in long ranges, check every blob, write the files.

A window of leaves is planned at a time: what each pack holds of it is read in few long ranges by several threads, so
memory does not grow with the tree.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat, Corrupt, Incomplete
from millpond.lake.chunks import ChunkList, decode_chunk_list
from millpond.lake.encoding import decode_blob
from millpond.lake.pages import LeafPage
from millpond.lake.ranges import Segment, segments
from millpond.lake.reader import TreeReader
from millpond.lake.target import Target
from millpond.lake.transfer import Downloader, Meter, Moved, Progress
from millpond.model.dataset import BlobPlace
from millpond.model.path import to_text
from millpond.model.tree import Content, Entry, Kind

_WORKERS = 4
_WINDOW_LEAVES = 16


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """`read_only` writes files as a cache holds them; `only` chooses paths.

    `paths` are all that is wanted, sorted: pages that hold none of them are not read.
    `link_from` may name a finished file of the same content and mode, to be linked instead of fetched.
    """

    read_only: bool = False
    only: Callable[[bytes], bool] | None = None
    paths: Sequence[bytes] | None = None
    link_from: Callable[[Entry], Path | None] | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    moved: Moved
    linked: int


def fetch_tree(
    source: Downloader,
    root: str,
    target: Path,
    *,
    options: FetchOptions | None = None,
    progress: Progress | None = None,
) -> Fetched:
    """Write the tree `root` into `target`, a new or empty directory. Every byte is checked before it is written.

    Corrupt if the lake holds other bytes than the tree names. After an error `target` holds part of the tree.
    """
    options = options or FetchOptions()
    if options.paths is not None:
        options = replace(options, only=frozenset(options.paths).__contains__)
    meter = Meter(progress)
    reader = TreeReader(source, root)
    whole = reader.root_ref()
    meter.expect(whole.entries, whole.size, counted=options.only is None)
    with Target(target, read_only=options.read_only) as into, ThreadPoolExecutor(_WORKERS, "fetch") as pool:
        fetch = _Fetch(source, into, options, meter, pool)
        leaves = _leaves(reader, options)
        while window := list(islice(leaves, _WINDOW_LEAVES)):
            fetch.window(window)
        into.finish()
    return Fetched(meter.finish(), fetch.linked)


def _leaves(reader: TreeReader, options: FetchOptions) -> Iterator[str]:
    if options.paths is None:
        return (ref.id for ref in reader.leaves())
    return iter(dict.fromkeys(map(reader.leaf_of, options.paths)))


class _Parts:
    """A file written in parts by several threads; the last one finishes it."""

    def __init__(self, entry: Entry, count: int) -> None:
        self.entry = entry
        self._left = count
        self._lock = threading.Lock()

    def is_last(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left == 0


@dataclass(frozen=True, slots=True)
class _Part:
    parts: _Parts
    offset: int


# What is written with the content of one blob: whole entries, and parts of large files.
_Uses = dict[bytes, list[Entry | _Part]]


class _Fetch:
    def __init__(
        self, source: Downloader, into: Target, options: FetchOptions, meter: Meter, pool: ThreadPoolExecutor
    ) -> None:
        self.linked = 0
        self._source = source
        self._into = into
        self._options = options
        self._meter = meter
        self._pool = pool

    def window(self, leaves: list[str]) -> None:
        """Fetch the entries of a few leaves."""
        pages = self._chosen_pages(leaves)
        places: dict[bytes, BlobPlace] = {}
        for found in self._pool.map(self._source.locator, pages):
            places.update(found)
        uses: _Uses = defaultdict(list)
        large: list[Entry] = []
        for entry in self._entries(pages.values()):
            self._into.make_parents(entry.path)
            if not self._is_done(entry):
                (large if entry.content == Content.CHUNKS else uses[entry.digest]).append(entry)
        self._plan_large(large, places, uses)
        self._read(uses, places, lambda digest, data: self._write(uses[digest], data))

    def _chosen_pages(self, leaves: list[str]) -> dict[str, LeafPage]:
        """The leaves that hold anything to write, read by several threads: the locators of others are not needed."""
        only = self._options.only
        pages = self._pool.map(lambda page_id: TreeReader(self._source, page_id).leaf(page_id), leaves)
        found = zip(leaves, pages, strict=True)
        return {page_id: page for page_id, page in found if only is None or any(map(only, page.paths))}

    def _entries(self, pages: Iterable[LeafPage]) -> Iterator[Entry]:
        """The entries to write, in order."""
        only = self._options.only
        for page in pages:
            for entry in page.entries():
                if only is None or only(entry.path):
                    yield entry

    def _is_done(self, entry: Entry) -> bool:
        """Make what needs no content from the lake."""
        if entry.content == Content.EXTERNAL:
            raise Incomplete(f"{to_text(entry.path)!r} lies outside the lake and cannot be fetched by this version.")
        if entry.kind == Kind.DIRECTORY:
            self._into.make_directory(entry.path)
            self._meter.add(files=1)
            return True
        if entry.content == Content.NOTHING:
            self._into.write_file(entry.path, entry.kind, b"")
            self._meter.add(files=1)
            return True
        existing = self._options.link_from(entry) if self._options.link_from and entry.kind.is_file else None
        if existing is not None and self._into.link_file(entry.path, existing):
            self.linked += 1
            self._meter.add(files=1, bytes=entry.size)
            return True
        return False

    def _plan_large(self, large: list[Entry], places: Mapping[bytes, BlobPlace], uses: _Uses) -> None:
        """Read the chunk lists of large files, make the files, and note where each chunk belongs."""
        wanted: _Uses = {entry.digest: [] for entry in large}
        lists: dict[bytes, ChunkList] = {}
        self._read(wanted, places, lambda digest, data: lists.__setitem__(digest, decode_chunk_list(data)))
        for entry in large:
            chunks = lists[entry.digest]
            if chunks.size != entry.size:
                raise Corrupt(f"The chunks of {to_text(entry.path)!r} do not add up to its size.")
            self._into.begin_file(entry.path, entry.size)
            parts = _Parts(entry, len(chunks.digests))
            offset = 0
            for digest, length in zip(chunks.digests, chunks.lengths, strict=True):
                uses[digest].append(_Part(parts, offset))
                offset += length

    def _read(self, wanted: _Uses, places: Mapping[bytes, BlobPlace], take: Callable[[bytes, Buffer], None]) -> None:
        """Give every wanted blob to `take`, from several threads, with a bounded number of ranges in memory."""
        try:
            found = [places[digest] for digest in wanted]
        except KeyError as error:
            raise Corrupt(f"No locator says where blob {error.args[0].hex()[:12]} lies.") from error
        under_way: deque[Future[None]] = deque()
        for segment in segments(found):
            if len(under_way) >= 2 * _WORKERS:
                under_way.popleft().result()
            under_way.append(self._pool.submit(self._read_segment, segment, take))
        while under_way:
            under_way.popleft().result()

    def _read_segment(self, segment: Segment, take: Callable[[bytes, Buffer], None]) -> None:
        view = self._range(segment)
        for place in segment.places:
            stored = view[place.offset - segment.start : place.offset - segment.start + place.stored]
            try:
                data = decode_blob(place.digest, place.encoding, stored, place.raw)
            except Corrupt:
                # Bytes may be damaged on the way: what the store holds decides.
                again = self._source.pack_range(place.pack_id, place.offset, place.offset + place.stored)
                data = decode_blob(place.digest, place.encoding, again, place.raw)
            take(place.digest, data)

    def _range(self, segment: Segment) -> memoryview:
        data = memoryview(self._source.pack_range(segment.pack_id, segment.start, segment.end))
        if len(data) != segment.end - segment.start:
            raise Corrupt(f"Pack {segment.pack_id} is shorter than its locators say.")
        self._meter.add(sent=len(data))
        return data

    def _write(self, uses: list[Entry | _Part], data: Buffer) -> None:
        for use in uses:
            if isinstance(use, _Part):
                self._write_part(use, data)
                continue
            if len(data) != use.size:
                raise Corrupt(f"{to_text(use.path)!r} has another size than the tree says.")
            if use.kind == Kind.SYMLINK:
                self._into.write_link(use.path, _link_target(use, data))
            else:
                self._into.write_file(use.path, use.kind, data)
            self._meter.add(files=1, bytes=use.size)

    def _write_part(self, part: _Part, data: Buffer) -> None:
        entry = part.parts.entry
        self._into.write_part(entry.path, part.offset, data)
        last = part.parts.is_last()
        if last:
            self._into.end_file(entry.path, entry.kind)
        self._meter.add(files=int(last), bytes=len(data))


def _link_target(entry: Entry, data: Buffer) -> bytes:
    target = bytes(data)
    if b"\0" in target:
        raise BadFormat(f"The link {to_text(entry.path)!r} has a target that no file system can hold.")
    return target
