"""The contract every blob store keeps. A store's author subclasses `BlobStoreContract` and gives it a store."""

from __future__ import annotations

import threading
from contextlib import nullcontext

import pytest

from millpond.blobs.store import BlobStore
from millpond.errors import BadPath, BadRequest, Conflict, MillError, NotFound


class BlobStoreContract:
    """Subclasses provide the fixture `store`: an empty BlobStore."""

    # Some S3 servers silently overwrite where a conditional write was asked for.
    honours_if_absent = True

    @pytest.fixture
    def store(self) -> BlobStore:
        raise NotImplementedError

    def test_gives_back_what_was_put(self, store: BlobStore) -> None:
        store.put("a/b/c", b"hello")
        store.put("a/view", memoryview(bytearray(b"world")))
        assert (store.get("a/b/c"), store.get("a/view")) == (b"hello", b"world")

    def test_keeps_an_empty_object(self, store: BlobStore) -> None:
        store.put("empty", b"")
        info = store.head("empty")
        assert store.get("empty") == b""
        assert info is not None
        assert info.size == 0

    def test_keeps_a_large_object(self, store: BlobStore) -> None:
        data = bytes(range(256)) * (9 << 12)
        store.put("packs/large", bytearray(data))
        assert store.get("packs/large") == data

    def test_put_replaces(self, store: BlobStore) -> None:
        store.put("key", b"first, and longer")
        store.put("key", b"second")
        assert store.get("key") == b"second"

    def test_reads_ranges_exactly(self, store: BlobStore) -> None:
        store.put("key", b"0123456789")
        assert store.get_range("key", 2, 5) == b"234"
        assert store.get_range("key", 0, 10) == b"0123456789"
        assert store.get_range("key", 4, 4) == b""

    @pytest.mark.parametrize(("start", "end"), [(8, 11), (12, 14), (5, 4)])
    def test_refuses_ranges_outside(self, store: BlobStore, start: int, end: int) -> None:
        store.put("key", b"0123456789")
        with pytest.raises(BadRequest):
            store.get_range("key", start, end)

    def test_names_what_is_missing(self, store: BlobStore) -> None:
        with pytest.raises(NotFound):
            store.get("no/such")
        with pytest.raises(NotFound):
            store.get_range("no/such", 0, 1)
        assert store.head("no/such") is None

    def test_a_prefix_is_not_an_object(self, store: BlobStore) -> None:
        store.put("a/b", b"x")
        assert store.head("a") is None
        with pytest.raises(NotFound):
            store.get("a")

    def test_if_absent_refuses_a_second_put(self, store: BlobStore) -> None:
        store.put("once", b"first", if_absent=True)
        with pytest.raises(Conflict) if self.honours_if_absent else nullcontext():
            store.put("once", b"second", if_absent=True)
        assert store.get("once") == (b"first" if self.honours_if_absent else b"second")

    def test_if_absent_has_one_winner(self, store: BlobStore) -> None:
        outcomes: list[str] = []

        def put(text: str) -> None:
            try:
                store.put("race", text.encode(), if_absent=True)
            except MillError as error:
                outcomes.append(error.code)
            else:
                outcomes.append(text)

        threads = [threading.Thread(target=put, args=(f"writer-{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        winners = [text for text in outcomes if text.startswith("writer-")]
        assert len(winners) == (1 if self.honours_if_absent else 4)
        assert store.get("race").decode() in winners, "one whole body, whoever wrote it"

    def test_lists_in_the_order_of_keys(self, store: BlobStore) -> None:
        keys = ["b/2", "a/b/c", "c", "a/c/d", "b/1", "a/b/d"]
        for key in keys:
            store.put(key, key.encode())
        listed = list(store.list())
        assert [info.key for info in listed] == sorted(keys)
        assert all(info.size == len(info.key) for info in listed)

    def test_lists_below_a_prefix_and_behind_a_key(self, store: BlobStore) -> None:
        for key in ("x/1", "x/2/deep", "x/3", "xy/1", "y/1"):
            store.put(key, b"")
        assert [info.key for info in store.list("x/")] == ["x/1", "x/2/deep", "x/3"]
        assert [info.key for info in store.list("x/", after="x/1")] == ["x/2/deep", "x/3"]
        assert [info.key for info in store.list("x/", after="x/2/deep")] == ["x/3"]
        assert list(store.list("nothing/")) == []

    def test_deletes_and_deletes_again(self, store: BlobStore) -> None:
        store.put("key", b"x")
        store.delete("key")
        store.delete("key")
        assert store.head("key") is None
        assert list(store.list()) == []

    @pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", "../a", "a/../b", ".hidden", "a/.b", "a b", "ä", "a\nb"])
    def test_refuses_keys_that_are_not_plain(self, store: BlobStore, key: str) -> None:
        for call in (store.get, store.head, store.delete):
            with pytest.raises(BadPath):
                call(key)
        with pytest.raises(BadPath):
            store.put(key, b"")
