"""Fetching a tree: read packs in long ranges, check every blob, write the files.

A window of leaves is planned at a time: what each pack holds of it is read in few long ranges by several threads, or
by processes where there are many files. So memory does not grow with the tree.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice, repeat
from operator import mul
from pathlib import Path
from typing import NamedTuple

from millpond.errors import Corrupt
from millpond.lake.chunks import ChunkList, decode_chunk_list
from millpond.lake.crew import Crew, orders_at_once, processes_for
from millpond.lake.fetch_orders import Carrier, Written
from millpond.lake.large_files import BeginLarge, LargeFiles
from millpond.lake.nursery import Nursery
from millpond.lake.pages import LeafPage, Row, entry_of
from millpond.lake.range_reader import Came
from millpond.lake.range_writes import (
    Order,
    ReadRange,
    Use,
    contents,
    order_of,
    orders,
    part_of,
    pieces,
    write_range,
)
from millpond.lake.ranges import Segment, segments
from millpond.lake.reader import TreeReader
from millpond.lake.target import Target
from millpond.lake.throttle import UNLIMITED, Throttle
from millpond.lake.transfer import Downloader, Meter, Moved, Progress
from millpond.model.dataset import BlobPlace
from millpond.model.path import to_text
from millpond.model.tree import Content, Entry, Kind
from millpond.proxy import proxy_for

_WORKERS = 4
# Leaves planned at a time, behind the first: more make longer ranges, fewer are written from sooner.
_NEXT_WINDOWS = (2, 4, 8)
_WINDOW_LEAVES = 16

# Waits for what is being made of a leaf without the lake; the entries that could not be.
_Waiting = Callable[[], Sequence[Row]]


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """`read_only` writes files as a cache holds them; `only` chooses paths.

    `paths` are all that is wanted, sorted: pages that hold none of them are not read.
    `local` may make files of the target without the lake: it is given the entries of one leaf after the other, whose
    directories are there, and begins. It returns those it does not have, and what waits until it is done with the
    others and says which it could not make.
    `begin` may make a large file of parts that are there already: which of its chunks are, or None if it has not.
    `processes` write beside this one; by default as many as a tree of its size is worth. They come from the `nursery`
    where this process cannot be copied. `came` is told of bytes of the lake as they come, and below zero when they are
    written and counted; by any thread, and must not raise.
    `throttle` is asked before ranges of packs are read; other reads are minded by the source.
    """

    read_only: bool = False
    only: Callable[[bytes], bool] | None = None
    paths: Sequence[bytes] | None = None
    local: Callable[[Sequence[Row], Target], tuple[Sequence[Row], _Waiting]] | None = None
    begin: BeginLarge | None = None
    processes: int | None = None
    nursery: Nursery | None = None
    came: Came = lambda size: None
    throttle: Throttle = UNLIMITED


@dataclass(frozen=True, slots=True)
class Fetched:
    """`external` are the entries that came from outside the lake, each with the plain entry of what came.

    `local_files` were made without the lake.
    """

    moved: Moved
    local_files: int = 0
    local_bytes: int = 0
    external: Sequence[tuple[Entry, Entry]] = ()


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
    with ExitStack() as stack:
        into = stack.enter_context(Target(target, read_only=options.read_only))
        fetch = _Fetch(source, into, options, meter, stack, crew_for=whole.entries)
        leaves = _leaves(reader, options)
        fetch.window(fetch.begin(list(islice(leaves, 1))))
        # From then on one window is begun ahead of the one that is fetched: what needs no lake is made meanwhile.
        begun: _Wanted = {}
        for size in chain(_NEXT_WINDOWS, repeat(_WINDOW_LEAVES)):
            window = list(islice(leaves, size))
            ahead = fetch.begin(window)
            fetch.window(begun)
            begun = ahead
            if not window:
                break
        fetch.finish()
        into.finish()
    return Fetched(meter.finish(), fetch.local_files, fetch.local_bytes, tuple(fetch.external))


def _leaves(reader: TreeReader, options: FetchOptions) -> Iterator[str]:
    if options.paths is None:
        return (ref.id for ref in reader.leaves())
    return iter(dict.fromkeys(map(reader.leaf_of, options.paths)))


class _Making(NamedTuple):
    """Files and bytes of a leaf that are being made without the lake, and what waits for that."""

    page_id: str
    files: int
    size: int
    waiting: _Waiting


# Leaves, each with the rows that are to be fetched.
_Wanted = dict[str, list[Row]]
# What is written with the content of each blob.
_Uses = dict[bytes, list[Use]]


class _Fetch:
    def __init__(
        self,
        source: Downloader,
        into: Target,
        options: FetchOptions,
        meter: Meter,
        stack: ExitStack,
        *,
        crew_for: int,
    ) -> None:
        self.local_files = self.local_bytes = 0
        self.external: list[tuple[Entry, Entry]] = []
        self._source = source
        self._into = into
        self._options = options
        self._meter = meter
        self._writing: deque[Future[None]] = deque()
        self._making: deque[_Making] = deque()
        self._large = LargeFiles(into, meter, options.begin)
        count = options.processes if options.processes is not None else processes_for(crew_for)
        workers = max(_WORKERS, orders_at_once(count))
        self._pool, self._readers = ThreadPoolExecutor(workers, "fetch"), ThreadPoolExecutor(_WORKERS, "fetch-plan")
        # What failed remembers where, and with that everything it had read: let go of, or it stays until a collection.
        stack.callback(self._writing.clear)
        for pool in (self._pool, self._readers):
            stack.callback(pool.shutdown, cancel_futures=True)
        # A crew is ended before the pools are: their threads wait for its answers.
        carrier = Carrier(into, options.came)
        self._carrier = stack.enter_context(Crew(into, count, options.nursery, options.came)) if count else carrier
        self._most = workers + _WORKERS

    def begin(self, leaves: list[str]) -> _Wanted:
        """Read a few leaves and begin to make what needs no lake. The rows of the others, by leaf."""
        self._settle(_WINDOW_LEAVES)
        return {page_id: self._begin(page_id, page) for page_id, page in self._chosen_pages(leaves).items()}

    def window(self, wanted: _Wanted) -> None:
        """Fetch some rows of some leaves. Some of it may still be under way when this returns."""
        places: dict[bytes, BlobPlace] = {}
        uses: _Uses = defaultdict(list)
        large: list[Entry] = []
        external: list[Entry] = []
        # The locators of pages of which nothing is to be fetched are not needed.
        for found in self._readers.map(self._source.locator, [page_id for page_id, left in wanted.items() if left]):
            places.update(found)
        for row in chain.from_iterable(wanted.values()):
            path, kind, content, size, digest = row
            if content == Content.BLOB:
                uses[digest].append((path, kind, size, None))
            else:
                (large if content == Content.CHUNKS else external).append(entry_of(row))
        self._plan_large(large, places, uses)
        for segment in segments(_found(uses, places)):
            for order in orders(segment, uses):
                self._wait(self._most)
                self._writing.append(self._pool.submit(self._write, order))
        self._read_external(external)

    def finish(self) -> None:
        """Wait for what is under way."""
        self._settle(0)
        self._wait(0)

    def _wait(self, most: int) -> None:
        while len(self._writing) > most:
            self._writing.popleft().result()

    def _chosen_pages(self, leaves: list[str]) -> dict[str, LeafPage]:
        """The leaves that hold anything to write, read by several threads: the locators of others are not needed."""
        only = self._options.only
        pages = self._readers.map(lambda page_id: TreeReader(self._source, page_id).leaf(page_id), leaves)
        found = zip(leaves, pages, strict=True)
        return {page_id: page for page_id, page in found if only is None or any(map(only, page.paths))}

    def _begin(self, page_id: str, page: LeafPage) -> list[Row]:
        """Make the directories of a leaf, and begin what needs no lake; what is to be fetched, in order."""
        only = self._options.only
        rows = [row for row in page.rows() if only is None or only(row[0])]
        for row in rows:
            self._into.make_parents(row[0])
        if self._options.local is None:
            return self._with_content(rows)
        missing, waiting = self._options.local(rows, self._into)
        if len(missing) < len(rows):
            size = sum(row[3] for row in rows) - sum(row[3] for row in missing)
            self._making.append(_Making(page_id, len(rows) - len(missing), size, waiting))
        return self._with_content(missing)

    def _settle(self, most: int) -> None:
        """Wait until no more than `most` leaves are being made without the lake, and fetch what could not be."""
        wanted: _Wanted = {}
        while len(self._making) > most:
            page_id, files, size, waiting = self._making.popleft()
            left = waiting()
            files, size = files - len(left), size - sum(row[3] for row in left)
            self.local_files += files
            self.local_bytes += size
            self._meter.add(files=files, bytes=size, local=size)
            wanted[page_id] = self._with_content(left)
        self.window(wanted)

    def _with_content(self, rows: Sequence[Row]) -> list[Row]:
        """Those that have content; the others are made."""
        # Most have some: asking first whether one can be anything else takes less than making its entry.
        return [row for row in rows if row[2] != Content.NOTHING or not self._is_done(entry_of(row))]

    def _is_done(self, entry: Entry) -> bool:
        """Make what has no content."""
        if entry.kind == Kind.DIRECTORY:
            self._into.make_directory(entry.path)
        elif entry.content == Content.NOTHING:
            self._into.write_file(entry.path, entry.kind, b"")
        else:
            return False
        self._meter.add(files=1)
        return True

    def _plan_large(self, large: list[Entry], places: Mapping[bytes, BlobPlace], uses: _Uses) -> None:
        """Read the chunk lists of large files, make the files, and note where each chunk belongs."""
        lists: dict[bytes, ChunkList] = {}
        wanted = segments(_found({entry.digest: [] for entry in large}, places)) if large else ()
        for found in self._readers.map(self._chunk_lists, wanted):
            lists.update(found)
        for entry in large:
            chunks = lists[entry.digest]
            if chunks.size != entry.size:
                raise Corrupt(f"The chunks of {to_text(entry.path)!r} do not add up to its size.")
            for digest, use in self._large.begin(entry, chunks):
                uses[digest].append(use)

    def _chunk_lists(self, segment: Segment) -> dict[bytes, ChunkList]:
        order, read = order_of(segment.pack_id, segment.places, ()), self._reading(segment.pack_id)
        while True:
            data = read(order.start, order.end)
            self._meter.add(sent=len(data))
            try:
                lists = dict(zip(order.digests, map(decode_chunk_list, contents(order, data, read)), strict=True))
                self._source.note_read(order.pack_id, None, len(data))
                return lists
            except Corrupt:
                if not self._source.distrust(order.pack_id):
                    raise

    def _write(self, order: Order) -> None:
        """Read one range and write what is in it; where there may be a limit, in parts, each in its turn."""
        throttle = self._options.throttle
        for part in pieces(order, lambda: throttle.step_bytes):
            size = part.end - part.start
            throttle.take(size)
            began = time.monotonic()
            self._write_part(part)
            throttle.note(size, time.monotonic() - began)

    def _write_part(self, order: Order) -> None:
        counted = _Counted(order, self._meter, self._large)
        done = self._carry_out(order, counted)
        while done < len(order.digests):
            rest, read = part_of(order, done, len(order.digests)), self._reading(order.pack_id)
            try:
                written = write_range(rest, read(rest.start, rest.end), read, self._into)
                self._source.note_read(order.pack_id, None, part_of(rest, 0, written).end - rest.start)
                done += written
                counted(done)
            except Corrupt:
                if not self._source.distrust(order.pack_id):
                    raise

    def _carry_out(self, order: Order, written: Written) -> int:
        """For how many of its blobs. For others that needs a proxy, or a URL: there is none, or it does not work."""
        url = self._source.pack_url(order.pack_id)
        if url is None or proxy_for(url) is not None:
            return 0
        done = self._carrier.carry_out(url, order, written)
        if done:
            self._source.note_read(order.pack_id, url, part_of(order, 0, done).end - order.start)
        return done

    def _reading(self, pack_id: str) -> ReadRange:
        return partial(self._source.pack_range, pack_id)

    def _read_external(self, entries: list[Entry]) -> None:
        """Several at a time; each is cut as a plain file would be, so that it is known what came."""
        if not entries:
            return
        # Few commits have any, and every clone would wait for what cuts them. Here, and not in a reader: while one
        # thread imports, no other must fork.
        from millpond.lake.streaming import entry_of_stream  # noqa: PLC0415

        self._source.expect_external(entries)
        read_one = partial(self._read_outside, entry_of_stream)
        for entry, read in zip(entries, self._readers.map(read_one, entries), strict=True):
            self.external.append((entry, read))

    def _read_outside(self, cut: Callable[..., Entry], entry: Entry) -> Entry:
        self._into.begin_file(entry.path, entry.size)
        read = cut(entry.path, entry.size, self._written(entry), lambda digest, data: None)
        self._into.end_file(entry.path, entry.kind)
        self._meter.add(files=1)
        return read

    def _written(self, entry: Entry) -> Iterator[bytes]:
        offset = 0
        for part in self._source.external(entry, 0, entry.size):
            self._into.write_part(entry.path, offset, part)
            offset += len(part)
            self._meter.add(bytes=len(part), sent=len(part), outside=len(part))
            yield part


class _Counted:
    """Tells the meter of each part of an order as it is written: how many of its blobs are."""

    def __init__(self, order: Order, meter: Meter, large: LargeFiles) -> None:
        self._order, self._meter, self._large = order, meter, large
        self._done, self._end = 0, order.start

    def __call__(self, done: int) -> None:
        if done <= self._done:
            return
        part = part_of(self._order, self._done, done)
        counts = [len(uses) for uses in part.uses]
        files = sum(counts) - self._large.unfinished(part)
        # What lies between two parts came as well.
        sent, self._done, self._end = part.end - self._end, done, part.end
        self._meter.add(files=files, bytes=sum(map(mul, counts, part.raw)), sent=max(0, sent))


def _found(uses: _Uses, places: Mapping[bytes, BlobPlace]) -> list[BlobPlace]:
    try:
        return [places[digest] for digest in uses]
    except KeyError as error:
        raise Corrupt(f"No locator says where blob {error.args[0].hex()[:12]} lies.") from error
