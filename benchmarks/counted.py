"""What the store is asked for: a lake behind a proxy that counts, filled by many at once, then by a difference.

The proxy is slow, so nothing is timed here.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.caching import add_volume, change_some, copy_of, sync
from benchmarks.millpond_server import Mill, running_mill
from millpond.client.caches import add_cached, get_cached
from millpond.model.cached_state import CachedState
from millpond.testing.faults import Exchange, faulty_proxy
from millpond.testing.seaweed import Seaweed
from millpond.wire.cache import CacheAdd

REQUESTERS = 100
_MANY = 1 << 60


@dataclass
class Counts:
    """Bytes and requests over signed URLs by object: those of agents and clients. The server's own carry a header."""

    sizes: dict[str, int] = field(default_factory=dict)
    read: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def pass_on(self, exchange: Exchange) -> None:
        answer = exchange.forward()
        path, _, query = exchange.handler.path.partition("?")
        with self._lock:
            if exchange.handler.command == "PUT":
                self.sizes[path] = len(exchange.body)
            elif "X-Amz-Signature=" in query:
                self.requests[path] += 1
                self.read[path] += len(answer.body)
        exchange.send(answer)

    def take(self) -> Counts:
        """What was counted since the last call."""
        with self._lock:
            taken = Counts(dict(self.sizes), self.read, self.requests)
            self.read, self.requests = Counter(), Counter()
        return taken


def count_requests(work: Path, tree: Path, seaweed: Seaweed) -> dict[str, float]:
    """100 requesters of one uncached commit at once; then the next commit, of which 1 % has changed."""
    with counting_mill(work, seaweed) as (mill, counts):
        add_volume(mill, work)
        copy = copy_of(tree, work)
        sync(mill, copy, "counted")
        counts.take()
        started = ask_at_once(mill, "counted")
        whole = counts.take()
        change_some(copy)
        mill.run("data", "sync", "-m", "second", cwd=copy)
        counts.take()
        mill.run("cache", "add", "counted/tree", "--on", "bench", cwd=work)
        delta = counts.take()
    packs = [path for path in whole.read if "/packs/" in path]
    return {
        "fills_of_100_requests": started,
        "pack_reads_per_pack": max(whole.read[path] / whole.sizes[path] for path in packs),
        "pack_requests_per_pack": sum(whole.requests[path] for path in packs) / len(packs),
        "delta_bytes_share": delta.read.total() / whole.read.total(),
    }


@contextmanager
def counting_mill(work: Path, seaweed: Seaweed) -> Iterator[tuple[Mill, Counts]]:
    counts = Counts()
    work.mkdir()
    with faulty_proxy(seaweed.endpoint) as proxy:
        proxy.fail(counts.pass_on, times=_MANY)
        with running_mill(work, replace(seaweed, endpoint=proxy.endpoint), prefix="counted") as mill:
            yield mill, counts


def ask_at_once(mill: Mill, project: str) -> int:
    """How many of the requests began a fill. Returns when it is ready."""
    begin = threading.Barrier(REQUESTERS)

    def ask(_: int) -> tuple[str, bool]:
        with mill.api() as api:
            begin.wait()
            added = add_cached(api, CacheAdd(dataset=f"{project}/tree", volume="bench"))
            return added.cached.id, added.started

    with ThreadPoolExecutor(REQUESTERS) as pool:
        answers = list(pool.map(ask, range(REQUESTERS)))
    with mill.api() as api:
        for cached_id in {cached_id for cached_id, _ in answers}:
            while (found := get_cached(api, cached_id)).state is not CachedState.READY:
                if found.state is not CachedState.FILLING:
                    raise RuntimeError(f"the fill came to {found.state}: {found.problem or found.reason}")
                time.sleep(0.1)  # polling, as the command line does
    return sum(started for _, started in answers)
