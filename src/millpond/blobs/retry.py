"""Trying again, for any store: the stores classify their errors, this wrapper has the patience."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from millpond.blobs.store import BlobInfo, BlobStore, Buffer, SignedUrl
from millpond.errors import Conflict, Unavailable
from millpond.retry import Backoff, RetryPolicy, retry

T = TypeVar("T")


class RetryingStore:
    """BlobStore that repeats what failed for a passing reason. Every call is safe to repeat."""

    def __init__(
        self,
        store: BlobStore,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self.signed_puts_only_create = store.signed_puts_only_create
        self._policy = policy or RetryPolicy()
        self._sleep = sleep

    def get(self, key: str) -> bytes:
        return self._again(lambda: self._store.get(key))

    def get_range(self, key: str, start: int, end: int) -> bytes:
        return self._again(lambda: self._store.get_range(key, start, end))

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        tried = False

        def once() -> None:
            nonlocal tried
            again, tried = tried, True
            self._put(key, data, if_absent, again=again)

        self._again(once)

    def head(self, key: str) -> BlobInfo | None:
        return self._again(lambda: self._store.head(key))

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[BlobInfo]:
        """Goes on behind the last key it gave when the store fails in the middle."""
        backoff = Backoff(self._policy)
        while True:
            try:
                for info in self._store.list(prefix, after):
                    after = info.key
                    backoff.reset()
                    yield info
                return
            except Unavailable:
                pause = backoff.next()
                if backoff.is_over(pause):
                    raise
            self._sleep(pause)

    def delete(self, key: str) -> None:
        self._again(lambda: self._store.delete(key))

    def sign(self, method: str, key: str, seconds: int) -> SignedUrl:
        return self._store.sign(method, key, seconds)

    def sign_create(self, key: str, seconds: int, crc32: str = "") -> SignedUrl:
        return self._store.sign_create(key, seconds, crc32)

    def _put(self, key: str, data: Buffer, if_absent: bool, *, again: bool) -> None:
        try:
            self._store.put(key, data, if_absent=if_absent)
        except Conflict:
            # The answer to an earlier try may have been lost after the store had done it: ours, then.
            if not again or self._store.get(key) != bytes(data):
                raise

    def _again(self, call: Callable[[], T]) -> T:
        return retry(call, Unavailable, self._policy, sleep=self._sleep)
