"""Reading what a scan found, in its order: in the caller's own thread as long as that is quick, by several otherwise.

Reading a small file is a few system calls, and each of them hands the interpreter's lock on: three threads spend twice
the processor time of one, and are slower than it unless there is something to wait for (docs/design/008).
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from millpond.lake.batch import Batch
from millpond.lake.chunks import WHOLE_MOST
from millpond.lake.digests import digest_of
from millpond.lake.stable_read import is_settled, read_seen, read_whole
from millpond.model.tree import NO_DIGEST, Content, Kind

try:
    import resource
except ImportError:  # Windows
    _OF_THREAD = None
else:
    _OF_THREAD = getattr(resource, "RUSAGE_THREAD", None)

THREADS = min(4, (os.cpu_count() or 1) + 1)
_AHEAD = 2 * THREADS
# Files of this size on average are hashed by several threads at once: they hold no lock meanwhile.
_LARGE = 256 << 10
# Seconds a file, above which it is waited for, wherever it lies.
_SLOW = 0.002
# Batches that are read by several threads before the caller tries again whether it is quicker.
_TRY_EVERY = 64


@dataclass
class ReadAhead:
    """Reads batches of the files below `root`. `pool` is used where several threads are worth it."""

    root: bytes
    pool: ThreadPoolExecutor
    _by_pool: int = field(default=0, init=False)

    def results(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The same batches in order, with what is small filled in, while threads work on a bounded number of them.

        What is still unknown then is to be read in chunks, or has vanished.
        """
        ahead: deque[Future[Batch]] = deque()
        for batch in batches:
            batch.unread = [number for number, row in enumerate(batch.rows) if row is None]
            size = sum(size for number in batch.unread if (size := batch.found[number].size) <= WHOLE_MOST)
            if self._is_for_several(batch, size):
                ahead.append(self.pool.submit(_read, self.root, batch))
            else:
                ahead.append(_done(self._read_here(batch, size)))
            while len(ahead) >= _AHEAD or (ahead and ahead[0].done()):
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()

    def _is_for_several(self, batch: Batch, size: int) -> bool:
        if not batch.unread:
            return False
        self._by_pool -= 1
        return self._by_pool >= 0 or size >= _LARGE * len(batch.unread)

    def _read_here(self, batch: Batch, size: int) -> Batch:
        """In this thread; what it finds out about the storage decides about the batches to come."""
        began, fetched = time.perf_counter(), _bytes_fetched()
        _read(self.root, batch)
        was_slow = time.perf_counter() - began > _SLOW * len(batch.found)
        if was_slow or 2 * (_bytes_fetched() - fetched) > size:
            self._by_pool = _TRY_EVERY
        return batch


def _read(root: bytes, batch: Batch) -> Batch:
    """Read what is small."""
    are_settled = batch.newest <= time.time_ns() and is_settled(batch.newest)
    for number in batch.unread:
        path, kind, status = batch.found[number]
        if status is None or status.st_size > WHOLE_MOST:
            continue
        data = None
        if kind != Kind.SYMLINK and (are_settled or is_settled(max(status.st_mtime_ns, status.st_ctime_ns))):
            data = read_seen(b"%b/%b" % (root, path), status)
        if data is None:
            _read_with_care(root, batch, number)
        elif data:
            digest = digest_of(data)
            batch.rows[number] = (path, kind, Content.BLOB, len(data), digest)
            batch.blobs.append((digest, data))
        else:
            batch.rows[number] = (path, kind, Content.NOTHING, 0, NO_DIGEST)
    return batch


def _read_with_care(root: bytes, batch: Batch, number: int) -> None:
    try:
        reading = read_whole(root, batch.found[number].path)
    except FileNotFoundError:
        return
    if reading is not None:
        batch.take(number, reading)


def _bytes_fetched() -> int:
    """What this thread had to wait for because no memory held it."""
    return 0 if _OF_THREAD is None else resource.getrusage(_OF_THREAD).ru_inblock * 512


def _done(batch: Batch) -> Future[Batch]:
    done: Future[Batch] = Future()
    done.set_result(batch)
    return done
