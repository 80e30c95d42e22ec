"""Reading what a scan found, in its order: in the caller's own thread as long as that is quick, by several otherwise.

Reading a small file is a few system calls, and each of them hands the interpreter's lock on: three threads spend twice
the processor time of one, and are slower than it unless there is something to wait for (docs/design/008).
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from millpond.lake.chunks import WHOLE_MOST
from millpond.lake.reading import Reading, read_whole
from millpond.lake.scan import Found
from millpond.model.tree import Entry

try:
    import resource
except ImportError:  # Windows
    _OF_THREAD = None
else:
    _OF_THREAD = getattr(resource, "RUSAGE_THREAD", None)

THREADS = min(4, (os.cpu_count() or 1) + 1)
BATCH_FILES = 128
_BATCH_BYTES = 4 << 20
_AHEAD = 2 * THREADS
# Files of this size on average are hashed by several threads at once: they hold no lock meanwhile.
_LARGE = 256 << 10
# Seconds a file, above which it is waited for, wherever it lies.
_SLOW = 0.002
# Batches that are read by several threads before the caller tries again whether it is quicker.
_TRY_EVERY = 64

# None stands for what is to be read in chunks, or has vanished.
Results = list[tuple[Found, Entry | Reading | None]]


@dataclass(slots=True)
class Batch:
    """What was found, and its entry where that is known without reading; how many are to be read, and their bytes."""

    items: list[tuple[Found, Entry | None]] = field(default_factory=list)
    unknown: int = 0
    bytes: int = 0


def batches(items: Iterator[tuple[Found, Entry | None]]) -> Iterator[Batch]:
    """Batches that take some milliseconds to read, and little memory."""
    batch = Batch()
    for pair in items:
        batch.items.append(pair)
        if pair[1] is None:
            batch.unknown += 1
            size = pair[0].size
            if size <= WHOLE_MOST:
                batch.bytes += size
        if len(batch.items) >= BATCH_FILES or batch.bytes >= _BATCH_BYTES:
            yield batch
            batch = Batch()
    if batch.items:
        yield batch


@dataclass
class ReadAhead:
    """Reads batches of the files below `root`. `pool` is used where several threads are worth it."""

    root: bytes
    pool: ThreadPoolExecutor
    _by_pool: int = field(default=0, init=False)

    def results(self, items: Iterator[Batch]) -> Iterator[tuple[Found, Entry | Reading | None]]:
        """Each thing with its entry or reading, in order, while threads work on a bounded number of batches to come."""
        ahead: deque[Future[Results]] = deque()
        for batch in items:
            if self._is_for_several(batch):
                ahead.append(self.pool.submit(_read, self.root, batch))
            else:
                ahead.append(_done(self._read_here(batch)))
            while len(ahead) >= _AHEAD or (ahead and ahead[0].done()):
                yield from ahead.popleft().result()
        while ahead:
            yield from ahead.popleft().result()

    def _is_for_several(self, batch: Batch) -> bool:
        if not batch.unknown:
            return False
        self._by_pool -= 1
        return self._by_pool >= 0 or batch.bytes >= _LARGE * batch.unknown

    def _read_here(self, batch: Batch) -> Results:
        """In this thread; what it finds out about the storage decides about the batches to come."""
        began, fetched = time.perf_counter(), _bytes_fetched()
        results = _read(self.root, batch)
        was_slow = time.perf_counter() - began > _SLOW * len(batch.items)
        if was_slow or 2 * (_bytes_fetched() - fetched) > batch.bytes:
            self._by_pool = _TRY_EVERY
        return results


def _read(root: bytes, batch: Batch) -> Results:
    """Read what is small."""
    results: Results = []
    for item, entry in batch.items:
        result: Entry | Reading | None = entry
        if entry is None and item.size <= WHOLE_MOST:
            try:
                result = read_whole(root, item.path, item.status)
            except FileNotFoundError:
                result = None
        results.append((item, result))
    return results


def _bytes_fetched() -> int:
    """What this thread had to wait for because no memory held it."""
    return 0 if _OF_THREAD is None else resource.getrusage(_OF_THREAD).ru_inblock * 512


def _done(results: Results) -> Future[Results]:
    done: Future[Results] = Future()
    done.set_result(results)
    return done
