"""Counts what each source gives to one fill, where the bytes are taken and after they were checked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from millpond.lake.transfer import Moved
from millpond.model.fill_source import LAKE_KEY, OUTSIDE_KEY, Given, SourceKey, SourceKind
from millpond.model.lake_store import ENDPOINT, OWN


class SourceTally:
    """Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: dict[SourceKey, Given] = {}
        self._receiving = 0

    def add(self, source: SourceKey, size: int, files: int = 1) -> None:
        """Count files of this size in all that were taken from the source."""
        with self._lock:
            before = self._given.get(source, Given())
            self._given[source] = Given(before.bytes + size, before.files + files)

    @property
    def receiving(self) -> int:
        """Bytes that have come of files that are not whole yet, and not checked."""
        return self._receiving

    def came(self, size: int) -> None:
        """Note bytes that have come and do not count otherwise yet; below zero when they do, or were wrong."""
        with self._lock:
            self._receiving += size

    @contextmanager
    def file(self) -> Iterator[Callable[[int], None]]:
        """While one file comes: what is told of its bytes. Inside the block it is added, or else does not count."""
        total = 0

        def came(size: int) -> None:
            nonlocal total
            total += size
            self.came(size)

        try:
            yield came
        finally:
            self.came(-total)

    def note_fetched(self, moved: Moved, stores: Mapping[str, int]) -> None:
        """Take how far fetching from the lake has come, and what each of its `stores` gave of that."""
        copies = {store: size for store, size in stores.items() if store not in (OWN, ENDPOINT)}
        with self._lock:
            self._given[LAKE_KEY] = Given(max(0, moved.sent - moved.outside - sum(copies.values())))
            for store, size in copies.items():
                self._given[SourceKey(SourceKind.REPLICA, store)] = Given(size)
            self._given[OUTSIDE_KEY] = Given(moved.outside)

    def given(self) -> Mapping[SourceKey, Given]:
        """By source, without those that gave nothing."""
        with self._lock:
            return {source: one for source, one in self._given.items() if one != Given()}
