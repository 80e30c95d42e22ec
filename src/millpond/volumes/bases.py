"""Commits that a fill takes files from: what of a tree they have, and under which path."""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from millpond.errors import MillError
from millpond.lake.diff import diff_trees
from millpond.lake.pages import Row
from millpond.lake.reader import KeptPages, PageSource, TreeReader
from millpond.model.fill_source import VOLUME_KEY, SourceKey
from millpond.model.tree import Kind, TreeChange
from millpond.volumes.source_watch import SourceWatch

log = logging.getLogger(__name__)

# Differences looked through for files that have only moved, before anything is written: some 50 MB of memory.
MOVED_MOST = 100_000
# Pages are read by so many, as far as they are surely kept until they are needed.
_READERS = 4
_LEAVES_AHEAD = 100
# Kinds of entries that are taken: others are as quickly made.
FILES = (int(Kind.FILE), int(Kind.EXECUTABLE))


@dataclass(frozen=True, slots=True)
class BaseTree:
    """A published commit, the tree that it holds, and where the pages of that tree are read.

    One of another volume (a `source` of its own) is copied from: it is not shared, and counted apart.
    """

    path: Path
    tree: str
    pages: PageSource
    source: SourceKey = VOLUME_KEY
    # Of another volume: told of all that is read there.
    watch: SourceWatch | None = None


class Base:
    """Where a base has the content of an entry: at the same path, or where it was before it was moved."""

    def __init__(self, directory: int, changes: Iterator[TreeChange], base: BaseTree) -> None:
        self.directory = directory
        self.source = base.source
        self.watch = base.watch
        # None if there are more than were looked at.
        self.differences: int | None = None
        self._later = changes
        self._is_over = False
        self._changed: deque[bytes] = deque()
        # Each is taken once, so that equal files stay as many as they are.
        self._moved: defaultdict[tuple[bytes, int], list[bytes]] = defaultdict(list)
        while len(self._changed) < MOVED_MOST:
            if (change := self._next()) is None:
                self.differences = None if self._is_over else len(self._changed)
                break
            before = change.before
            if before is not None and before.kind.is_file and before.size:
                self._moved[before.digest, before.kind].append(change.path)

    @property
    def is_elsewhere(self) -> bool:
        return self.source != VOLUME_KEY

    def paths_of(self, rows: Sequence[Row]) -> list[bytes | None]:
        """Where the base has each of these, which come in the order of paths; None for what it does not have."""
        changed = self._changed_up_to(rows[-1][0]) if rows else set()
        if self._is_over:
            return [None] * len(rows)
        return [
            None if kind not in FILES else path if path not in changed else self._before(digest, kind)
            for path, kind, _, _, digest in rows
        ]

    def _before(self, digest: bytes, kind: int) -> bytes | None:
        moved = self._moved.get((digest, kind))
        return moved.pop() if moved else None

    def _changed_up_to(self, last: bytes) -> set[bytes]:
        """The paths not behind `last` that differ between the two trees, each asked for once."""
        found: set[bytes] = set()
        while (self._changed or self._next() is not None) and self._changed[0] <= last:
            found.add(self._changed.popleft())
        return found

    def _next(self) -> TreeChange | None:
        """The next difference, which is noted. A base whose pages cannot be read is of no use any more, and no harm."""
        try:
            change = next(self._later, None)
        except MillError as error:
            log.warning("a base cannot be compared with: %s", error.message)
            self._is_over = True
            return None
        if change is not None:
            self._changed.append(change.path)
        return change


def changes_since(source: KeptPages, base: BaseTree, root: str) -> Iterator[TreeChange]:
    """What differs. Nothing is read before the first one is asked for, and then the first pages side by side."""
    before = source.beside(base.pages)
    old, new = (
        {ref.id: None for ref in islice(TreeReader(pages, tree).leaves(), _LEAVES_AHEAD)}
        for pages, tree in ((before, base.tree), (source, root))
    )
    with ThreadPoolExecutor(_READERS, "compare") as pool:
        for read in [
            *(pool.submit(before.decoded, page_id) for page_id in old if page_id not in new),
            *(pool.submit(source.decoded, page_id) for page_id in new if page_id not in old),
        ]:
            read.result()
    yield from diff_trees(source, base.tree, root, before_source=before)
