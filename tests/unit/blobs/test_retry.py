from __future__ import annotations

from collections.abc import Iterator

import pytest

from millpond.blobs.memory import MemoryStore
from millpond.blobs.retry import RetryingStore
from millpond.blobs.store import BlobInfo, Buffer
from millpond.errors import Conflict, NotFound, StoreUnavailable
from millpond.retry import RetryPolicy


class FlakyStore(MemoryStore):
    """Fails `failures` times; `late` means it does the work and then loses the answer."""

    def __init__(self, failures: int, *, late: bool = False) -> None:
        super().__init__()
        self.failures, self.late, self.calls = failures, late, 0

    def put(self, key: str, data: Buffer, *, if_absent: bool = False) -> None:
        self.calls += 1
        fail = self.calls <= self.failures
        if not fail or self.late:
            super().put(key, data, if_absent=if_absent)
        if fail:
            raise StoreUnavailable("reset")

    def list(self, prefix: str = "", after: str | None = None) -> Iterator[BlobInfo]:
        for number, info in enumerate(super().list(prefix, after)):
            if number == 2 and self.failures:
                self.failures -= 1
                raise StoreUnavailable("reset")
            yield info


def retrying(store: MemoryStore, waits: list[float] | None = None) -> RetryingStore:
    return RetryingStore(store, RetryPolicy(attempts=4), sleep=(waits if waits is not None else []).append)


def test_tries_again_with_growing_waits() -> None:
    waits: list[float] = []
    store = FlakyStore(3)
    retrying(store, waits).put("key", b"x")
    assert store.get("key") == b"x"
    assert waits == sorted(waits)
    assert len(waits) == 3


def test_gives_up_with_the_last_error() -> None:
    with pytest.raises(StoreUnavailable):
        retrying(FlakyStore(4)).put("key", b"x")


def test_does_not_repeat_what_will_not_change() -> None:
    waits: list[float] = []
    with pytest.raises(NotFound):
        retrying(MemoryStore(), waits).get("key")
    assert waits == []


def test_a_lost_answer_to_a_conditional_put_is_not_a_conflict() -> None:
    store = FlakyStore(1, late=True)
    retrying(store).put("key", b"x", if_absent=True)
    assert store.get("key") == b"x"


def test_somebody_elses_object_is_a_conflict_even_after_a_lost_answer() -> None:
    store = FlakyStore(1)
    MemoryStore.put(store, "key", b"theirs")
    with pytest.raises(Conflict):
        retrying(store).put("key", b"ours", if_absent=True)


def test_a_broken_listing_goes_on_where_it_stopped() -> None:
    store = FlakyStore(0)
    for number in range(7):
        store.put(f"k{number}", b"")
    store.failures = 3
    assert [info.key for info in retrying(store).list()] == [f"k{n}" for n in range(7)]
