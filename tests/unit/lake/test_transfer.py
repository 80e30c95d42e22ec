"""Pushing and fetching whole directories."""

from __future__ import annotations

import errno
import os
import random
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat, Conflict, Corrupt, Forbidden, Incomplete, StoreUnavailable
from millpond.lake.digests import digest_of
from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.pages import LEAF_MOST_ENTRIES, Row, encode_index, encode_leaf, pack_page
from millpond.lake.push import Pushed, PushOptions, push_directory
from millpond.lake.reader import TreeReader
from millpond.lake.target import Target
from millpond.lake.transfer import Moved, Slot
from millpond.model.tree import Content, Entry, Kind
from millpond.testing.lake import DirectLake, Thing, read_things, things, write_things


def push(lake: DirectLake, root: Path, **options: object) -> Pushed:
    pushed = push_directory(root, lake, options=PushOptions(**options))  # type: ignore[arg-type]
    assert lake.accept(pushed.tree.root) == pushed.tree
    return pushed


@given(things())
@example([Thing(b"a/A/a", b""), Thing(b"a/a", b""), Thing(b"a/b/c/d", b""), Thing(b"a/b/e", b""), Thing(b"ab/f", b"")])
def test_a_directory_comes_back_exactly(before: list[Thing]) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name) / "source", Path(name) / "target"
        source.mkdir()
        write_things(source, before)
        lake = DirectLake()
        pushed = push(lake, source)
        fetch_tree(lake, pushed.tree.root, target)
        assert read_things(target) == read_things(source)
        assert pushed.tree.files == sum(thing.content is not None for thing in read_things(source))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    chance = random.Random(0)
    root = tmp_path / "source"
    large = chance.randbytes(5_000_000)
    write_things(
        root,
        [
            Thing(b"large", large),
            Thing(b"again/large", large, executable=True),
            Thing(b"zeros", bytes(9 << 20)),
            Thing(b"exactly", chance.randbytes(1 << 20)),
            Thing(b"one-more", chance.randbytes((1 << 20) + 1)),
            Thing(b"empty-file", b""),
            Thing(b"empty/directory"),
            Thing(b"run", b"#!/bin/sh\n", executable=True),
            Thing(b"link", b"../outside", link=True),
            Thing("caf\u00e9".encode(), b"one form"),
            Thing("cafe\u0301".encode(), b"the other"),
            Thing(b"README", b"upper"),
            Thing(b"readme", b"lower"),
            Thing(b"\xff\xfe\n\x01", b"not text"),
            Thing(b"/".join([b"d" * 200] * 18) + b"/" + b"f" * 255, b"deep"),
            *(Thing(b"many/%04d" % n, b"%d" % (n % 150) * 50) for n in range(300)),
        ],
    )
    return root


def test_every_kind_of_file_comes_back(source: Path, tmp_path: Path) -> None:
    lake = DirectLake()
    pushed = push(lake, source)
    seen: list[Moved] = []
    fetched = fetch_tree(lake, pushed.tree.root, tmp_path / "target", progress=seen.append)
    assert read_things(tmp_path / "target") == read_things(source)
    assert (seen[-1].bytes, seen[-1].files) == (pushed.tree.bytes, pushed.tree.entries)
    assert seen[-1] == fetched.moved
    assert stat.S_IMODE((tmp_path / "target/run").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "target/large").stat().st_mode) == 0o644


def test_the_same_content_is_stored_once(source: Path) -> None:
    lake = DirectLake()
    pushed = push(lake, source)
    distinct = sum(place.stored for place in lake.places.values())
    assert pushed.moved.sent < distinct + 200_000
    assert distinct < 5_000_000 + 3_200_000  # `large` once, nine megabytes of zeros as almost nothing


def test_a_cache_is_read_only_and_looks_the_same_everywhere(source: Path, tmp_path: Path) -> None:
    lake = DirectLake()
    root = push(lake, source).tree.root
    fetch_tree(lake, root, tmp_path / "cache", options=FetchOptions(read_only=True))
    assert read_things(tmp_path / "cache") == read_things(source)
    for directory, below, files in os.walk(tmp_path / "cache"):
        for name in files:
            status = os.lstat(Path(directory) / name)
            assert status.st_mtime == 1_000_000_000
            if stat.S_ISREG(status.st_mode):
                assert stat.S_IMODE(status.st_mode) in (0o444, 0o555)
        for name in below:
            status = os.lstat(Path(directory) / name)
            assert (stat.S_IMODE(status.st_mode), status.st_mtime) == (0o755, 1_000_000_000)


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    write_things(tmp_path / "source", [Thing(b"a/run", b"x", executable=True), Thing(b"a/big", bytes(2 << 20))])
    lake = DirectLake()
    root = push(lake, tmp_path / "source").tree.root
    before = os.umask(umask)
    try:
        fetch_tree(lake, root, tmp_path / "target")
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / "target" / name).stat().st_mode) for name in ("a", "a/run", "a/big")]
    assert modes == [0o755, 0o755, 0o644]


def test_pushing_again_sends_nothing(source: Path, tmp_path: Path) -> None:
    lake = DirectLake()
    first = push(lake, source, stat_cache=tmp_path / "cache")
    again = push(lake, source, stat_cache=tmp_path / "cache")
    assert (again.tree, again.packs, again.pages, again.moved.sent) == (first.tree, 0, 0, 0)


def age(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files just made are not trusted by their times; let that rule pass."""
    monkeypatch.setattr("millpond.lake.statcache.RACY_NANOSECONDS", -(10**12))


def test_unchanged_files_are_not_read_again(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    age(source, monkeypatch)
    lake = DirectLake()
    push(lake, source, stat_cache=tmp_path / "cache")
    assert push(lake, source, stat_cache=tmp_path / "cache").files_read == 0
    (source / "many/0003").write_bytes(b"changed")
    changed = push(lake, source, stat_cache=tmp_path / "cache")
    assert (changed.files_read, changed.packs, changed.pages) == (1, 1, 1)
    assert changed.moved.sent < 200_000
    assert push(lake, source, stat_cache=tmp_path / "cache", rehash=True).files_read > 300


def test_one_change_in_a_tree_of_several_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(LEAF_MOST_ENTRIES + 1):
        (folder / f"{number:05d}").write_bytes(b"%d" % number)
    age(folder, monkeypatch)
    lake = DirectLake()
    push(lake, folder, stat_cache=tmp_path / "cache")
    (folder / "00000").write_bytes(b"changed")
    changed = push(lake, folder, stat_cache=tmp_path / "cache")
    assert (changed.files_read, changed.pages) == (1, 2), "a leaf, and the root"


def test_a_new_project_gets_everything_although_nothing_was_read(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(source, monkeypatch)
    push(DirectLake(), source, stat_cache=tmp_path / "cache")
    other = DirectLake()
    pushed = push(other, source, stat_cache=tmp_path / "cache")
    assert pushed.files_read == 0
    fetch_tree(other, pushed.tree.root, tmp_path / "target")
    assert read_things(tmp_path / "target") == read_things(source)


def test_a_file_that_lies_about_its_times_is_noticed_when_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(tmp_path, monkeypatch)
    write_things(tmp_path / "source", [Thing(b"file", b"before")])
    push(DirectLake(), tmp_path / "source", stat_cache=tmp_path / "cache")
    cached = (tmp_path / "cache").read_bytes()
    monkeypatch.setattr("millpond.lake.batch.numbers_of", lambda status: bytes(32))
    (tmp_path / "cache").unlink()
    push(DirectLake(), tmp_path / "source", stat_cache=tmp_path / "cache")
    assert (tmp_path / "cache").read_bytes() != cached
    (tmp_path / "source/file").write_bytes(b"after!")
    with pytest.raises(Conflict):
        push(DirectLake(), tmp_path / "source", stat_cache=tmp_path / "cache")


class UnreliableLake(DirectLake):
    """Fails the n-th put, or lets the first slot of a pack expire."""

    def __init__(self, fail_at: int = 0, *, expire: bool = False) -> None:
        super().__init__()
        self.fail_at, self.expire, self.puts = fail_at, expire, 0
        self.expired: list[str] = []

    def put(self, slot: Slot, data: Buffer) -> None:
        self.puts += 1
        if self.puts == self.fail_at:
            raise StoreUnavailable("the network went away")
        # Pages have no slots that expire: the server writes them. They may come before the pack.
        if self.expire and not self.expired and "/packs/" in slot.url:
            self.expired.append(slot.id)
            raise Forbidden("expired")
        super().put(slot, data)


def test_a_push_that_failed_goes_on_where_it_stopped(source: Path, tmp_path: Path) -> None:
    whole = push(DirectLake(), source, pack_target=1 << 20).moved.sent
    lake = UnreliableLake(fail_at=4)
    with pytest.raises(StoreUnavailable):
        push(lake, source, pack_target=1 << 20)
    written = sum(place.stored for place in lake.places.values())
    known = set(lake.places)
    lake.asked.clear()
    pushed = push(lake, source, pack_target=1 << 20)
    assert written > 0
    assert pushed.moved.sent <= whole - written  # nothing that the lake knew of was sent again
    assert known <= set(lake.asked)
    fetch_tree(lake, pushed.tree.root, tmp_path / "target")
    assert read_things(tmp_path / "target") == read_things(source)


def test_expired_slots_are_renewed(tmp_path: Path) -> None:
    write_things(tmp_path / "source", [Thing(b"a", b"content")])
    lake = UnreliableLake(expire=True)
    push(lake, tmp_path / "source")
    assert len(lake.expired) == 1
    assert {place.pack_id for place in lake.places.values()}.isdisjoint(lake.expired)


def test_what_is_there_is_not_fetched(source: Path, tmp_path: Path) -> None:
    lake = DirectLake()
    root = push(lake, source).tree.root
    options = FetchOptions(read_only=True)
    fetch_tree(lake, root, tmp_path / "v1", options=options)
    lake.ranges.clear()
    directory = os.open(tmp_path / "v1", os.O_RDONLY)

    def local(rows: Sequence[Row], into: Target) -> tuple[Sequence[Row], Callable[[], Sequence[Row]]]:
        many = [row[0].startswith(b"many/") and into.link_file(row[0], row[0], directory) for row in rows]
        return [row for row, linked in zip(rows, many, strict=True) if not linked], list

    fetched = fetch_tree(lake, root, tmp_path / "v2", options=FetchOptions(read_only=True, local=local))
    os.close(directory)
    assert fetched.local_files == 300
    assert (tmp_path / "v1/many/0001").samefile(tmp_path / "v2/many/0001")
    assert read_things(tmp_path / "v2") == read_things(source)


def test_what_cannot_be_linked_is_fetched(tmp_path: Path) -> None:
    write_things(tmp_path / "source", [Thing(b"a", b"content")])
    lake = DirectLake()
    root = push(lake, tmp_path / "source").tree.root
    directory = os.open(tmp_path, os.O_RDONLY)

    def local(rows: Sequence[Row], into: Target) -> tuple[Sequence[Row], Callable[[], Sequence[Row]]]:
        return [], lambda: [row for row in rows if not into.link_file(row[0], b"no-such-file", directory)]

    gone = FetchOptions(local=local)
    fetched = fetch_tree(lake, root, tmp_path / "target", options=gone)
    os.close(directory)
    assert (fetched.local_files, (tmp_path / "target/a").read_bytes()) == (0, b"content")


def test_only_chosen_paths_are_fetched(source: Path, tmp_path: Path) -> None:
    lake = DirectLake()
    root = push(lake, source).tree.root
    fetch_tree(lake, root, tmp_path / "t", options=FetchOptions(only=lambda path: path.startswith(b"many/000")))
    assert [thing.path for thing in read_things(tmp_path / "t")] == [b"many/%04d" % n for n in range(10)]


def test_packs_are_read_in_long_ranges(tmp_path: Path) -> None:
    write_things(tmp_path / "source", [Thing(b"%05d" % n, random.Random(n).randbytes(1000)) for n in range(1200)])
    lake = DirectLake()
    root = push(lake, tmp_path / "source").tree.root
    fetch_tree(lake, root, tmp_path / "target")
    assert len(lake.ranges) == 1


@pytest.mark.parametrize("times", [1, 2])
def test_damaged_bytes_are_never_written(tmp_path: Path, times: int) -> None:
    """Damage on the way is read again; damage in the store is an error."""
    write_things(tmp_path / "source", [Thing(b"a", b"content")])
    lake = DirectLake()
    root = push(lake, tmp_path / "source").tree.root
    honest = lake.pack_range
    left = [times]

    def damaged(pack_id: str, start: int, end: int) -> bytes:
        data = bytearray(honest(pack_id, start, end))
        if left[0]:
            left[0] -= 1
            data[0] ^= 1
        return bytes(data)

    lake.pack_range = damaged  # type: ignore[method-assign]
    if times == 1:
        fetch_tree(lake, root, tmp_path / "target")
        assert (tmp_path / "target/a").read_bytes() == b"content"
    else:
        with pytest.raises(Corrupt):
            fetch_tree(lake, root, tmp_path / "target")
        assert not (tmp_path / "target/a").exists()


def test_a_target_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    write_things(tmp_path / "source", [Thing(b"a", b"content")])
    lake = DirectLake()
    root = push(lake, tmp_path / "source").tree.root
    write_things(tmp_path / "target", [Thing(b"mine", b"x")])
    with pytest.raises(Conflict):
        fetch_tree(lake, root, tmp_path / "target")
    assert read_things(tmp_path / "target") == [Thing(b"mine", b"x")]


class TestHostileTrees:
    """Pages that no server would accept must not lead a fetch outside its target either."""

    def fetch(self, lake: DirectLake, leaves: list[list[Entry]], target: Path) -> None:
        pages = [encode_leaf(leaf) for leaf in leaves]
        ids = [digest_of(page).hex() for page in pages]
        refs = [TreeReader(_One(page), page_id).root_ref() for page, page_id in zip(pages, ids, strict=True)]
        index = encode_index(1, refs)
        for data in [*pages, index]:
            page_id = digest_of(data).hex()
            lake.store.put(lake.keys.page(page_id), pack_page(data))
            lake.store.put(lake.keys.locator(page_id), lake.store.get(lake.keys.locator(self.locator)))
        fetch_tree(lake, digest_of(index).hex(), target)

    @pytest.fixture
    def lake(self, tmp_path: Path) -> DirectLake:
        lake = DirectLake()
        write_things(tmp_path / "source", [Thing(b"x", b"evil"), Thing(b"y", str(tmp_path).encode())])
        root = push(lake, tmp_path / "source").tree.root
        self.locator = root
        return lake

    @pytest.mark.parametrize("between", [0, 40])
    def test_a_link_is_not_followed_to_write(self, lake: DirectLake, tmp_path: Path, between: int) -> None:
        """Whichever of directory and link is made first, the other one is refused."""
        outside = str(tmp_path).encode()
        link = Entry(b"a", Kind.SYMLINK, len(outside), Content.BLOB, digest_of(outside))
        filling = [[Entry(b"a-%03d" % n, Kind.FILE)] for n in range(between)]
        below = Entry(b"a/written", Kind.FILE, 4, Content.BLOB, digest_of(b"evil"))
        with pytest.raises(Conflict):
            self.fetch(lake, [[link], *filling, [below]], tmp_path / "target")
        assert not (tmp_path / "written").exists()

    @pytest.mark.parametrize("path", [b"../out", b"/tmp/out", b"a/../../out", b".mill/config", b"a/.MILL/x"])
    def test_paths_outside_cannot_even_be_read(self, path: bytes) -> None:
        with pytest.raises(BadFormat):
            encode_leaf([Entry(path, Kind.FILE)])


class _One:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def page(self, page_id: str) -> bytes:
        return self._data


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_things(tmp_path / "source", [Thing(b"a", b"content")])
    lake = DirectLake()
    root = push(lake, tmp_path / "source").tree.root

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Exception, match="No space left for 'a'"):
        fetch_tree(lake, root, tmp_path / "target")


def test_a_commit_without_its_blobs_is_refused(tmp_path: Path) -> None:
    write_things(tmp_path / "source", [Thing(b"a", b"content")])
    lake = DirectLake()
    pushed = push_directory(tmp_path / "source", lake)
    lake.places.clear()
    with pytest.raises(Incomplete) as caught:
        lake.accept(pushed.tree.root)
    assert caught.value.details["blobs"] == [digest_of(b"content").hex()]
