"""Pushing a directory: hash, ask what is missing, fill packs, upload them, then the pages that name it all.

One thread walks, reads and packs (others read ahead of it where that pays); some send a bounded number of packs.
Nothing is visible to anybody until the caller commits the root that comes back.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from millpond.errors import Conflict
from millpond.lake.batch import Batch, batches
from millpond.lake.external_files import StandIns, stands_for
from millpond.lake.ignore import IGNORE_FILE
from millpond.lake.packer import Packer
from millpond.lake.packs import PACK_TARGET
from millpond.lake.pages import LeafPage, Row, decode_page, entry_of, is_leaf, pack_page, row_of, unpack_page
from millpond.lake.read_ahead import THREADS, ReadAhead
from millpond.lake.scan import Found, Warn, scan_runs
from millpond.lake.stable_read import Reading, read_chunks
from millpond.lake.statcache import StatCache
from millpond.lake.transfer import Meter, Moved, Progress, Slot, Uploader
from millpond.lake.tree import Tree, TreeBuilder
from millpond.lake.unchanged_tree import Walk, unchanged_tree
from millpond.model.path import to_text
from millpond.model.tree import Content, Entry, Kind

_ASK_PAGES = 500


@dataclass(frozen=True, slots=True)
class PushOptions:
    """`stat_cache` is the file that remembers unchanged files; `rehash` reads them all the same."""

    stat_cache: Path | None = None
    rehash: bool = False
    ignore_files: Sequence[bytes] = (IGNORE_FILE,)
    ignore: Sequence[str] = ()
    pack_target: int = PACK_TARGET
    stand_ins: StandIns = field(default_factory=dict)
    # Gives files of a copy the numbers of their originals (lake/batch): by those they are known to be unchanged.
    identify: Callable[[Iterator[Batch]], Iterator[Batch]] | None = None
    # Told of the entries of the tree, in the order of their paths.
    note: Callable[[Sequence[Row]], None] = lambda rows: None

    @property
    def walk(self) -> Path | None:
        """The file that remembers the tree. Not where files stand for something else: that may change beside them."""
        if self.stat_cache is None or self.stand_ins or self.identify:
            return None
        return self.stat_cache.with_name(f"{self.stat_cache.name}-walk")

    def scan(self, root: Path, warn: Warn = lambda path, why: None) -> Iterator[list[Found]]:
        return scan_runs(root, ignore_files=self.ignore_files, ignore=self.ignore, warn=warn)


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
        push = _Push(root, packer, meter, readers, cache or None, options.stand_ins, options.note)
        stop = stack.enter_context(_counting(root, options, meter))
        walk = Walk(cache.moment if cache else 0)
        found = walk.noting(batches(options.scan(root, warn)))
        tree = push.build(options.identify(found) if options.identify else found)
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
    runs = options.scan(root, lambda path, why: warnings.append((path, why)))
    tree = unchanged_tree(options.walk, batches(runs))
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
        for run in options.scan(root):
            files += sum(found.kind != Kind.DIRECTORY for found in run)
            size += sum(found.size for found in run)
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
    note: Callable[[Sequence[Row]], None]
    files_read: int = 0
    files_total: int = 0
    bytes_total: int = 0
    pages: dict[str, bytes] = field(default_factory=dict)
    # Leaves that may name content which was not read now, because it has not changed.
    unread: set[str] = field(default_factory=set)
    has_unread: bool = False

    def build(self, found: Iterator[Batch]) -> Tree:
        """Read what must be read, send its blobs, and build the pages, all in the order of paths."""
        builder = TreeBuilder(self._keep_page)
        ahead = ReadAhead(os.fsencode(self.root), self.readers)
        for batch in ahead.results(self._known(found)):
            self._take(batch)
            rows = [row for row in batch.rows if row is not None]
            pages = len(self.pages)
            self.has_unread |= batch.has_known
            builder.extend(rows)
            self.note(rows)
            if len(self.pages) > pages:  # what is left for the next leaf is of this batch alone
                self.has_unread = batch.has_known
            self.meter.add(files=sum(row[1] != Kind.DIRECTORY for row in rows), bytes=sum(row[3] for row in rows))
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
        """A leaf comes with the batch that the last entry in it is of. Index pages hold nothing that could be read."""
        self.pages[page_id] = pack_page(data)
        if self.has_unread and is_leaf(data):
            self.unread.add(page_id)

    def _page_slots(self) -> list[Slot]:
        """Slots for the missing pages. The root is asked for first: where it is, all the others are."""
        ids = list(reversed(self.pages))
        slots: list[Slot] = []
        for start in range(0, len(ids), _ASK_PAGES):
            slots += self.packer.uploader.page_slots(ids[start : start + _ASK_PAGES])
            if all(slot.id != ids[0] for slot in slots):
                return []
        return slots

    def _known(self, found: Iterator[Batch]) -> Iterator[Batch]:
        """The same batches, with what is known without reading; whoever watches hears how much there is by now."""
        for batch in found:
            self.files_total += sum(map(bool, batch.numbers))
            self.bytes_total += sum(item.size for item in batch.found)
            self.meter.expect(self.files_total, self.bytes_total)
            if self.cache:
                self.cache.lookup(batch)
            yield batch

    def _take(self, batch: Batch) -> None:
        """Fill in what is large, and hand all blobs to the packer. What has vanished stays unknown."""
        for number in batch.unread:
            if batch.rows[number] is None:
                try:
                    reading = self._read_large(batch.found[number].path)
                except FileNotFoundError:
                    continue
                batch.take(number, reading)
        self.files_read += sum(batch.rows[number] is not None for number in batch.unread)
        if self.stand_ins:
            self._stand_in(batch)
        self.packer.add_all(batch.blobs)
        if self.cache:
            self.cache.record(batch)

    def _stand_in(self, batch: Batch) -> None:
        """External entries for files that were read and stand for such; what they hold is not sent."""
        plain: set[bytes] = set()
        for number in batch.unread:
            if row := batch.rows[number]:
                entry = stands_for(self.stand_ins, entry_of(row))
                batch.rows[number] = row_of(entry)
                if entry.content != Content.EXTERNAL:
                    plain.add(entry.digest)
        batch.blobs = [blob for blob in batch.blobs if blob[0] in plain]

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
