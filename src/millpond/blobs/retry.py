"""Trying again, for any store: the stores classify their errors, this wrapper has the patience."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from millpond.blobs.store import BlobInfo, BlobStore, Buffer, SignedUrl
from millpond.errors import Conflict, Unavailable

T = TypeVar("T")

# Of HTTP: the same request may succeed a little later.
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Patience:
    """Up to `attempts` tries, and more until `seconds` have passed since the first of them failed.

    Between them it waits `first` seconds and twice as long each time, at most `longest`.
    """

    attempts: int = 6
    first: float = 0.1
    longest: float = 10.0
    seconds: float = 0.0

    def is_over(self, attempts: int, seconds: float) -> bool:
        """After so many tries, so long after the first failed."""
        return attempts >= self.attempts and seconds >= self.seconds

    def wait(self, attempt: int, chance: float) -> float:
        """Seconds after failed try number `attempt` (from 0); `chance` in [0, 1) spreads a crowd of clients."""
        return float(min(self.longest, self.first * 2.0**attempt)) * (0.5 + chance / 2)


class RetryingStore:
    """BlobStore that repeats what failed for a passing reason. Every call is safe to repeat."""

    def __init__(
        self,
        store: BlobStore,
        patience: Patience | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self.signed_puts_only_create = store.signed_puts_only_create
        self._patience = patience or Patience()
        self._sleep = sleep

    def get(self, key: str) -> bytes:
        return self._again(lambda _: self._store.get(key))

    def get_range(self, key: str, start: int, end: int) -> bytes:
        return self._again(lambda _: self._store.get_range(key, start, end))

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        self._again(lambda attempt: self._put(key, data, if_absent, attempt))

    def head(self, key: str) -> BlobInfo | None:
        return self._again(lambda _: self._store.head(key))

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[BlobInfo]:
        """Goes on behind the last key it gave when the store fails in the middle."""
        failures = 0
        while True:
            try:
                for info in self._store.list(prefix, after):
                    failures, after = 0, info.key
                    yield info
                return
            except Unavailable:
                failures += 1
                if failures >= self._patience.attempts:
                    raise
            self._sleep(self._patience.wait(failures - 1, random.random()))

    def delete(self, key: str) -> None:
        self._again(lambda _: self._store.delete(key))

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        return self._store.sign(method, key, seconds)

    def sign_create(self, key: str, seconds: int, crc32: str = "") -> SignedUrl:
        return self._store.sign_create(key, seconds, crc32)

    def _put(self, key: str, data: Buffer, if_absent: bool, attempt: int) -> None:
        try:
            self._store.put(key, data, if_absent=if_absent)
        except Conflict:
            # The answer to an earlier try may have been lost after the store had done it: ours, then.
            if attempt == 0 or self._store.get(key) != bytes(data):
                raise

    def _again(self, call: Callable[[int], T]) -> T:
        for attempt in range(self._patience.attempts - 1):
            try:
                return call(attempt)
            except Unavailable:
                self._sleep(self._patience.wait(attempt, random.random()))
        return call(self._patience.attempts - 1)
