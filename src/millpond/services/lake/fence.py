"""Keeps a server that no longer owns its lake from writing to it.

Whoever takes a lake over writes an owner record first and waits `SETTLE_SECONDS` before reading (docs/design/005).
Every write asks this fence, which has looked for such a record less than `FRESH_SECONDS` ago: so nothing is written any
more when the new owner begins to read. Removing objects looks each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import ROUTE
from millpond.blobs.store import BlobInfo, BlobStore, Buffer, SignedUrl
from millpond.errors import DiskFull, Forbidden, LakeTakenOver, MillError, StoreUnavailable
from millpond.lake import keys
from millpond.lake.records import decode_owner

FRESH_SECONDS = 4.0
SETTLE_SECONDS = 10.0
# A lake that did not answer is not asked again for so long, where there is a copy of it.
_AWAY_SECONDS = 15.0


class Fence:
    """Open until the lake has an owner record above `epoch`; then closed as long as the process lives."""

    def __init__(self, store: BlobStore, epoch: int, elapsed: Callable[[], float], *, remedy: str) -> None:
        self.epoch = epoch
        # Records of former owners that were found and are not used.
        self.ignored: list[str] = []
        self._store = store
        self._elapsed = elapsed
        self._remedy = remedy
        self._looked_at = elapsed()
        self._closed: LakeTakenOver | None = None

    @property
    def is_closed(self) -> bool:
        return self._closed is not None

    def check(self, *, now: bool = False) -> None:
        """LakeTakenOver once another server owns the lake; `now` looks again, however fresh the last look is."""
        if self._closed is None and (now or self._elapsed() - self._looked_at >= FRESH_SECONDS):
            began = self._elapsed()
            self._look()
            self._looked_at = began
        if self._closed is not None:
            raise LakeTakenOver(self._closed.message, hint=self._closed.hint)

    def _look(self) -> None:
        newer = [info.key for info in self._store.list(keys.OWNERS, after=keys.owner(self.epoch))]
        if newer:
            owner = decode_owner(self._store.get(newer[-1]))
            self._closed = LakeTakenOver(_message(owner.database, owner.taken_at), hint=self._remedy)


class NoFence(Fence):
    """For a store that is nobody's but this process's, and for reading a lake that is being taken over."""

    def __init__(self, epoch: int = 0) -> None:
        super().__init__(MemoryStore(None), epoch, lambda: 0.0, remedy="")

    def check(self, *, now: bool = False) -> None:
        pass


class FencedStore:
    """BlobStore whose writes, removals and signed PUTs are refused once the fence is closed."""

    def __init__(self, store: BlobStore, fence: Fence) -> None:
        self.unfenced = store
        self.signed_puts_only_create = store.signed_puts_only_create
        self._fence = fence
        # Copies of the lake, which are read while it is away.
        self.copies: Callable[[], Sequence[BlobStore]] = tuple
        # Hears of each call to the lake: what it was, the seconds it took, and whether it failed.
        self.told: Callable[[str, float, bool], None] = _nobody
        self._away_until = 0.0

    def get(self, key: str) -> bytes:
        with self._timed("get"):
            return self._read(key, lambda store: store.get(key))

    def get_range(self, key: str, start: int, end: int) -> bytes:
        with self._timed("get"):
            return self._read(key, lambda store: store.get_range(key, start, end))

    def _read(self, key: str, read: Callable[[BlobStore], bytes]) -> bytes:
        """From the lake; what never changes comes from a copy while the lake is away."""
        is_away = time.monotonic() < self._away_until
        if not is_away or not _never_changes(key):
            try:
                return read(self.unfenced)
            except StoreUnavailable:
                copies = self.copies() if _never_changes(key) else ()
                if not copies:
                    raise
                self._away_until = time.monotonic() + _AWAY_SECONDS
        for copy in self.copies():
            with suppress(MillError):
                return read(copy)
        return read(self.unfenced)

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        self._fence.check()
        with self._timed("put"):
            self.unfenced.put(key, data, if_absent=if_absent)

    def head(self, key: str) -> BlobInfo | None:
        with self._timed("head"):
            return self.unfenced.head(key)

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[BlobInfo]:
        return self.unfenced.list(prefix, after)

    def delete(self, key: str) -> None:
        self._fence.check()
        with self._timed("delete"):
            self.unfenced.delete(key)

    @contextmanager
    def _timed(self, operation: str) -> Iterator[None]:
        began, failed = time.monotonic(), False
        try:
            yield
        except (StoreUnavailable, Forbidden, DiskFull):  # what is not there, or there already, is an answer
            failed = True
            raise
        finally:
            self.told(operation, time.monotonic() - began, failed)

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        if method != "GET":
            self._fence.check()
        return self.unfenced.sign(method, key, seconds)

    def sign_create(self, key: str, seconds: int, crc32: str = "") -> SignedUrl:
        self._fence.check()
        return self.unfenced.sign_create(key, seconds, crc32)


def _nobody(operation: str, seconds: float, failed: bool) -> None:
    pass


def served_by_us(store: BlobStore, key: str) -> BlobStore | None:
    """The store behind the server's own URLs; None for one that serves its objects itself."""
    inner = store.unfenced if isinstance(store, FencedStore) else store
    return inner if inner.sign("GET", key, 60).url.startswith(ROUTE) else None


def _never_changes(key: str) -> bool:
    return any(f"/{kind}/" in key for kind in ("packs", "pages", "locators", "commits"))


def _message(database: str, taken_at: datetime) -> str:
    return (
        f"Database {database} took this lake over at {taken_at:%Y-%m-%d %H:%M:%S} UTC. "
        "This server only reads it now, and writes nothing."
    )
