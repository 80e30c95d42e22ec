"""Pushing a directory: hash, ask what is missing, fill packs, upload them, then the pages that name it all.

One thread walks, reads and packs (others read ahead of it where that pays); some send a bounded number of packs.
Nothing is visible to anybody until the caller commits the root that comes back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from millpond.errors import Conflict
from millpond.lake.ignore import IGNORE_FILE
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.pages import LeafPage, decode_page, pack_page, unpack_page
from millpond.lake.read_ahead import BATCH_FILES, THREADS, Batch, ReadAhead, batches
from millpond.lake.reading import Reading, read_chunks
from millpond.lake.scan import Found, Warn, scan
from millpond.lake.stand_ins import StandIns, stands_for
from millpond.lake.statcache import StatCache
from millpond.lake.transfer import Meter, Moved, Progress, Slot, Uploader
from millpond.lake.tree import Tree, TreeBuilder
from millpond.lake.unchanged import Walk, unchanged_tree
from millpond.model.path import to_text
from millpond.model.tree import Content, Entry, Kind

_ASK_PAGES = 500
_TELL_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class PushOptions:
    """`stat_cache` is the file that remembers unchanged files; `rehash` reads them all the same."""

    stat_cache: Path | None = None
    rehash: bool = False
    ignore_files: Sequence[bytes] = (IGNORE_FILE,)
    ignore: Sequence[str] = ()
    pack_target: int = PACK_TARGET

    @property
    def walk(self) -> Path | None:
        """The file that remembers the tree. Not where files stand for something else: that may change beside them."""
        if self.stat_cache is None or self.stand_ins:
            return None
        return self.stat_cache.with_name(f"{self.stat_cache.name}-walk")

    def scan(self, root: Path, warn: Warn = lambda path, why: None) -> Iterator[Found]:
        return scan(root, ignore_files=self.ignore_files, ignore=self.ignore, warn=warn)

    stand_ins: StandIns = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pushed:
    """The tree that was pushed, and what it took."""

    tree: Tree
    moved: Moved
    files_read: int
    packs: int
    pages: int


def push_directory(
    root: Path,
    uploader: Uploader,
    *,
    options: PushOptions | None = None,
    progress: Progress | None = None,
    warn: Warn = lambda path, why: None,
) -> Pushed:
    """Upload everything below `root` that the project lacks; the answer names the root to commit.

    Conflict if a file changes faster than it can be read. Safe to call again after any error: what was uploaded
    is not sent again.
    """
    options = options or PushOptions()
    meter = Meter(progress)
    with ExitStack() as stack:
        readers = stack.enter_context(ThreadPoolExecutor(THREADS, "push-read"))
        packer = stack.enter_context(Packer(uploader, meter, options.pack_target))
        cache = options.stat_cache and stack.enter_context(StatCache(options.stat_cache, rehash=options.rehash))
        push = _Push(root, packer, meter, readers, cache or None, options.stand_ins)
        stop = stack.enter_context(_counting(root, options, meter))
        walk = Walk(cache.moment if cache else 0)
        tree = push.build(walk.noting(options.scan(root, warn)))
        stop.set()
        if options.walk:
            walk.save(options.walk, tree.root)
        packer.flush()
        pages = push.send_pages()
        packer.finish()
    return Pushed(tree, meter.finish(), push.files_read, packer.packs, pages)


def seen_before(root: Path, options: PushOptions, warn: Warn = lambda path, why: None) -> str | None:
    """The tree of `root`, if it is known without reading a file or building a page."""
    if options.walk is None or options.rehash:
        return None
    warnings: list[tuple[bytes, str]] = []
    tree = unchanged_tree(options.walk, options.scan(root, lambda path, why: warnings.append((path, why))))
    for path, why in warnings if tree else ():
        warn(path, why)
    return tree


@contextmanager
def _counting(root: Path, options: PushOptions, meter: Meter) -> Iterator[threading.Event]:
    """Counts beside the push what there is to do, if anybody watches, until the event is set."""
    stop = threading.Event()

    def count() -> None:
        # Counting takes as long as finding: what is done before anybody looks is not counted.
        if stop.wait(meter.first_look):
            return
        files = size = 0
        for found in options.scan(root):
            files += found.kind != Kind.DIRECTORY
            size += found.size
            if stop.is_set():
                return
        meter.expect(files, size, counted=True)

    thread = threading.Thread(target=count, name="push-count", daemon=True)
    if meter.watched:
        thread.start()
    try:
        yield stop
    finally:
        stop.set()
        if meter.watched:
            thread.join()


@dataclass
class _Push:
    root: Path
    packer: Packer
    meter: Meter
    readers: ThreadPoolExecutor
    cache: StatCache | None
    stand_ins: StandIns
    files_read: int = 0
    files_total: int = 0
    bytes_total: int = 0
    pages: dict[str, bytes] = field(default_factory=dict)
    # Leaves that name content which was not read now, because it has not changed.
    unread: set[str] = field(default_factory=set)
    has_unread: bool = False

    def build(self, found: Iterator[Found]) -> Tree:
        """Read what must be read, send its blobs, and build the pages, all in the order of paths."""
        builder = TreeBuilder(self._keep_page)
        files = size = 0
        ahead = ReadAhead(os.fsencode(self.root), self.readers)
        for item, result in ahead.results(self._expected(batches(self._known(found)))):
            entry = self._take(item, result)
            if entry is not None:
                builder.add(entry)
                files += entry.kind != Kind.DIRECTORY
                size += entry.size
                if files >= BATCH_FILES or size >= _TELL_BYTES:
                    self.meter.add(files=files, bytes=size)
                    files = size = 0
        self.meter.add(files=files, bytes=size)
        self.meter.expect(self.files_total, self.bytes_total, counted=True)
        return builder.finish()

    def send_pages(self) -> int:
        """Send the pages that are missing, beside the last packs: nothing refers to them before the commit does."""
        slots = self._page_slots()
        for slot in slots:
            if slot.id in self.unread:
                page = decode_page(unpack_page(slot.id, self.pages[slot.id]))
                assert isinstance(page, LeafPage)
                self._send_unread(page)
        self.packer.flush()
        return self.packer.put_all(slots, self.pages)

    def _keep_page(self, page_id: str, data: bytes) -> None:
        """A leaf comes right behind the last entry in it."""
        self.pages[page_id] = pack_page(data)
        if self.has_unread:
            self.unread.add(page_id)
            self.has_unread = False

    def _page_slots(self) -> list[Slot]:
        """Slots for the missing pages. The root is asked for first: where it is, all the others are."""
        ids = list(reversed(self.pages))
        slots: list[Slot] = []
        for start in range(0, len(ids), _ASK_PAGES):
            slots += self.packer.uploader.page_slots(ids[start : start + _ASK_PAGES])
            if all(slot.id != ids[0] for slot in slots):
                return []
        return slots

    def _known(self, found: Iterator[Found]) -> Iterator[tuple[Found, Entry | None]]:
        """Beside each thing found its entry, where that is known without reading."""
        for item in found:
            self.files_total += item.kind != Kind.DIRECTORY
            self.bytes_total += item.size
            if item.kind == Kind.DIRECTORY:
                yield item, Entry(item.path, Kind.DIRECTORY)
            else:
                yield item, self.cache.lookup(item) if self.cache else None

    def _expected(self, items: Iterator[Batch]) -> Iterator[Batch]:
        """The same batches; whoever watches hears how much is known of by now."""
        for batch in items:
            self.meter.expect(self.files_total, self.bytes_total)
            yield batch

    def _take(self, item: Found, result: Entry | Reading | None) -> Entry | None:
        """The entry of one thing, its blobs handed to the packer; None for what has vanished."""
        if isinstance(result, Entry):
            self.has_unread |= result.kind != Kind.DIRECTORY
            if self.cache and item.status:
                self.cache.record(result, item.status)
            return result
        try:
            reading = result or self._read_large(item.path)
        except FileNotFoundError:
            return None
        entry = stands_for(self.stand_ins, reading.entry)
        if reading.data and entry.content != Content.EXTERNAL:
            self.packer.add(reading.entry.digest, reading.data)
        if self.cache:
            self.cache.record(entry, reading.status)
        self.files_read += 1
        return entry

    def _read_large(self, path: bytes) -> Reading:
        """Its blobs go to the packer, unless it stands for an external entry still."""
        root = os.fsencode(self.root)
        if path in self.stand_ins:
            reading = read_chunks(root, path, lambda digest, data: None)
            if stands_for(self.stand_ins, reading.entry) != reading.entry:
                return reading
        return read_chunks(root, path, self.packer.add)

    def _send_unread(self, page: LeafPage) -> None:
        """A new page may name content that was not read because it had not changed: the project may lack it."""
        unread = {
            page.digest(number): number
            for number in range(len(page))
            if page.contents[number] not in (Content.NOTHING, Content.EXTERNAL)
            and not self.packer.knows(page.digest(number))
        }
        digests = list(unread)
        missing = self.packer.uploader.missing(digests) if digests else []
        for digest, is_missing in zip(digests, missing, strict=True):
            if is_missing:
                self._send_again(page.entry(unread[digest]))

    def _send_again(self, entry: Entry) -> None:
        try:
            reading = read_chunks(os.fsencode(self.root), entry.path, self.packer.add)
        except FileNotFoundError:
            reading = None
        if reading is None or reading.entry != entry:
            raise Conflict(f"The file {to_text(entry.path)!r} was changed while it was being sent.", hint="Try again.")
