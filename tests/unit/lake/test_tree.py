"""Building, reading, comparing and editing trees, against plain dictionaries."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.errors import BadFormat, BadPath, NotFound
from millpond.lake import frames
from millpond.lake.diff import diff_trees
from millpond.lake.digests import id_of
from millpond.lake.edit import edit_tree
from millpond.lake.folders import LeafFolders, decode_folders, encode_folders, folders_in
from millpond.lake.listing import list_directory
from millpond.lake.pages import PageRef, row_of
from millpond.lake.reader import TreeReader
from millpond.lake.tree import Tree, TreeBuilder, build_tree
from millpond.model.tree import Content, Entry, Kind, TreeChange
from millpond.testing.lake import MemoryPages, entries_at, many_files, paths, trees, without_conflicts


def a_tree(entries: list[Entry]) -> tuple[MemoryPages, TreeReader, Tree]:
    pages = MemoryPages()
    tree = pages.build(entries)
    return pages, TreeReader(pages, tree.root), tree


@given(trees())
def test_reads_back_what_was_built(entries: list[Entry]) -> None:
    _, reader, tree = a_tree(entries)
    assert list(reader.entries()) == entries
    assert (tree.entries, tree.bytes) == (len(entries), sum(entry.size for entry in entries))
    assert tree.files == sum(entry.kind != Kind.DIRECTORY for entry in entries)
    assert all(reader.stat(entry.path) == entry for entry in entries)


@given(trees(), paths())
def test_looks_at_paths_that_may_not_be_there(entries: list[Entry], path: bytes) -> None:
    _, reader, _ = a_tree(entries)
    assert reader.stat(path) == {entry.path: entry for entry in entries}.get(path)
    below = any(entry.path.startswith(path + b"/") for entry in entries)
    empty = any(entry.path == path and entry.kind == Kind.DIRECTORY for entry in entries)
    assert reader.is_directory(path) == (below or empty)


def listed_plainly(entries: list[Entry], directory: bytes) -> dict[bytes, tuple[bool, int, int]]:
    """Name → (is directory, entries below, bytes), from the entries alone."""
    found: dict[bytes, tuple[bool, int, int]] = {}
    prefix = directory + b"/" if directory else b""
    for entry in (entry for entry in entries if entry.path.startswith(prefix)):
        name, slash, _ = entry.path[len(prefix) :].partition(b"/")
        if slash:
            _, count, size = found.get(name, (True, 0, 0))
            found[name] = (True, count + 1, size + entry.size)
        else:
            directory_entry = entry.kind == Kind.DIRECTORY
            found[name] = (directory_entry, 0 if directory_entry else 1, entry.size)
    return found


def check_listing(reader: TreeReader, entries: list[Entry], directory: bytes, limit: int) -> None:
    found: dict[bytes, tuple[bool, int, int]] = {}
    start: bytes | None = b""
    while start is not None:
        part = list_directory(reader, directory, start, limit)
        assert len(part.items) <= limit
        assert not found.keys() & {item.name for item in part.items}
        found.update({item.name: (item.is_directory, item.entries, item.size) for item in part.items})
        start = part.next
    assert found == listed_plainly(entries, directory)


@given(trees(), st.integers(1, 5))
def test_lists_every_directory(entries: list[Entry], limit: int) -> None:
    _, reader, _ = a_tree(entries)
    directories = {b""} | {entry.path[:at] for entry in entries for at, c in enumerate(entry.path) if c == 0x2F}
    for directory in directories:
        check_listing(reader, entries, directory, limit)


@given(trees())
def test_tells_what_a_leaf_holds_by_directory(entries: list[Entry]) -> None:
    pages, _, tree = a_tree(entries)
    held = folders_in(pages.page(tree.root))
    rows = zip(held.directories, held.entries, held.sizes, strict=True)
    expected: dict[bytes, tuple[int, int]] = {}
    for entry in entries:
        directory = entry.path[: entry.path.rfind(b"/") + 1]
        count, size = expected.get(directory, (0, 0))
        expected[directory] = count + 1, size + entry.size
    assert list(rows) == [(directory, *expected[directory]) for directory in sorted(expected)]
    kept = decode_folders(encode_folders(held))
    assert [*zip(kept.directories, kept.entries, kept.sizes, strict=True)] == [
        *zip(held.directories, held.entries, held.sizes, strict=True)
    ]


@pytest.mark.parametrize("damage", [b"", b"MLF1", b"MLF2\0\0\0\0", b"MLF1\x01\0\0\0", b"MLF1\0\0\0\0more"])
def test_what_a_leaf_holds_is_decoded_strictly(damage: bytes) -> None:
    with pytest.raises(BadFormat):
        decode_folders(frames.compress(damage))


@given(trees(), st.integers(0, 40))
def test_iterates_below_a_directory_and_behind_a_path(entries: list[Entry], skip: int) -> None:
    _, reader, _ = a_tree(entries)
    after = entries[skip].path if skip < len(entries) else b"\xff" * 300
    assert list(reader.entries(after=after)) == [entry for entry in entries if entry.path > after]
    directory = after.partition(b"/")[0]
    inside = [entry for entry in entries if entry.path.startswith(directory + b"/")]
    assert list(reader.entries(directory)) == inside


@cache
def many() -> list[Entry]:
    return many_files(12_000, lambda n: f"{n % 7}/{n // 50 % 30:02d}/{n:06d}")


class TestManyPages:
    """Trees of many pages, too large for Hypothesis to draw."""

    def test_has_pages_of_bounded_size(self) -> None:
        entries = many()
        _, reader, _ = a_tree(entries)
        counts = [ref.entries for ref in reader.leaves()]
        assert sum(counts) == 12_000
        assert all(512 <= count <= 4096 for count in counts[:-1])

    def test_lists_and_counts(self) -> None:
        entries = many()
        _, reader, _ = a_tree(entries)
        for directory in (b"", b"3", b"3/07", b"6/29"):
            check_listing(reader, entries, directory, 40)

    def test_a_listing_seeks_over_subtrees(self) -> None:
        entries = many()
        pages, _, tree = a_tree(entries)
        total = len(pages.pages)
        pages.reads.clear()
        check_listing(TreeReader(pages, tree.root), entries, b"3/07", 10)
        assert len(set(pages.reads)) <= 4 < total

    def test_a_listing_of_folders_asks_only_for_leaves_in_which_one_ends(self) -> None:
        folders = many_files(12_000, lambda n: f"in/{n // 3000}/{n % 3000 // 10:03d}/{n:06d}")
        entries = sorted([*folders, *many_files(3000, lambda n: f"in/{n}.txt")], key=lambda entry: entry.path)
        pages, reader, _ = a_tree(entries)
        asked: list[str] = []

        def held(leaf_ids: Sequence[str]) -> list[LeafFolders]:
            asked.extend(leaf_ids)
            return [folders_in(pages.page(leaf_id)) for leaf_id in leaf_ids]

        for directory in (b"", b"in/2"):
            asked.clear()
            part = list_directory(reader, directory, limit=500, folders=held)
            found = {item.name: (item.is_directory, item.entries, item.size) for item in part.items}
            assert found == listed_plainly(entries, directory)
            assert len(asked) == len(set(asked)) < len(list(reader.leaves()))

    def test_one_changed_file_shares_all_leaves_but_one(self) -> None:
        entries = many()
        pages, _, before = a_tree(entries)
        old = set(pages.pages)
        changed = [*entries[:5000], Entry(entries[5000].path, Kind.FILE), *entries[5001:]]
        after = pages.build(changed)
        assert len(set(pages.pages) - old) == 2
        pages.reads.clear()
        changes = list(diff_trees(pages, before.root, after.root))
        assert changes == [TreeChange(entries[5000].path, entries[5000], changed[5000])]
        assert len(set(pages.reads)) == 4

    def test_an_inserted_file_changes_few_leaves(self) -> None:
        entries = many()
        pages, _, _ = a_tree(entries)
        old = set(pages.pages)
        pages.build(sorted([*entries, Entry(b"2/15/new", Kind.FILE)], key=lambda entry: entry.path))
        assert len(set(pages.pages) - old) <= 6

    def test_diffs_any_two(self) -> None:
        entries = many()
        chance = random.Random(1)
        pages, _, before = a_tree(entries)
        kept = [entry for entry in entries if chance.random() > 0.001]
        added = [Entry(f"{n}/added".encode(), Kind.FILE) for n in range(7)]
        after_entries = sorted([*kept, *added], key=lambda entry: entry.path)
        after = pages.build(after_entries)
        old, new = {e.path: e for e in entries}, {e.path: e for e in after_entries}
        expected = [
            TreeChange(path, old.get(path), new.get(path))
            for path in sorted(old.keys() | new.keys())
            if old.get(path) != new.get(path)
        ]
        assert list(diff_trees(pages, before.root, after.root)) == expected

    @pytest.mark.parametrize("seed", range(8))
    def test_an_edit_equals_a_rebuild(self, seed: int) -> None:
        entries = many()
        chance = random.Random(seed)
        pages, _, before = a_tree(entries)
        removed = {entry.path for entry in entries if chance.random() < chance.choice([0.0, 0.0005, 0.002])}
        if seed == 5:  # a whole run, so that leaves vanish
            removed |= {entry.path for entry in entries[3000:7000]}
        chosen = chance.sample(entries, 5)
        puts = [Entry(entry.path, Kind.EXECUTABLE) for entry in chosen]
        puts += [Entry(b"%d/%02d/x%d" % (n % 9, n, n), Kind.FILE) for n in range(chance.randrange(20))]
        state = {entry.path: entry for entry in entries if entry.path not in removed} | {e.path: e for e in puts}
        rebuilt = MemoryPages().build(state[path] for path in sorted(state))
        written: dict[str, bytes] = {}
        pages.reads.clear()
        edited = edit_tree(pages, before.root, puts, removed, written.__setitem__)
        assert (edited.root, edited.entries, edited.bytes) == (rebuilt.root, rebuilt.entries, rebuilt.bytes)
        assert before.files + edited.files_change == rebuilt.files
        pages.pages.update(written)
        assert list(TreeReader(pages, edited.root).entries()) == [state[path] for path in sorted(state)]

    def test_an_edit_reads_only_what_it_touches(self) -> None:
        entries = many()
        pages, _, before = a_tree(entries)
        pages.reads.clear()
        edit_tree(pages, before.root, [Entry(entries[5000].path, Kind.FILE)], [], lambda *_: None)
        assert len(set(pages.reads)) <= 4


@pytest.mark.parametrize("change", [{"digest": b"\1" * 32}, {"size": 7}, {"kind": Kind.EXECUTABLE}])
def test_changes_anywhere_in_a_leaf_are_found(change: dict[str, Any]) -> None:
    """Leaves with the same paths are compared in columns, digests in blocks."""
    before = many_files(600)
    changed = [0, 1, 15, 16, 31, 32, 300, 598, 599]
    after = [replace(entry, **change) if number in changed else entry for number, entry in enumerate(before)]
    pages = MemoryPages()
    old, new = pages.build(before), pages.build(after)
    expected = [TreeChange(before[number].path, before[number], after[number]) for number in changed]
    assert list(diff_trees(pages, old.root, new.root)) == expected


def test_index_pages_have_levels() -> None:
    """Some thousand leaves, known only by their refs, need an index of indexes."""
    pages = MemoryPages()
    builder = TreeBuilder(pages.pages.__setitem__)
    leaves = [PageRef(id_of(b"%d" % n), 0, 600, n, b"%06d" % n) for n in range(5000)]
    for leaf in leaves:
        builder.add_leaf(leaf)
    tree = builder.finish()
    reader = TreeReader(pages, tree.root)
    assert reader.root_ref().level == 2
    assert list(reader.leaves()) == leaves
    root = reader.root_ref()
    assert (root.entries, root.size) == (5000 * 600, sum(range(5000)))
    assert list(reader.leaves(b"002000", b"002003")) == leaves[2000:2003]


@given(trees(), trees())
def test_diff_is_what_dictionaries_say(left: list[Entry], right: list[Entry]) -> None:
    pages = MemoryPages()
    before, after = pages.build(left), pages.build(right)
    old, new = {entry.path: entry for entry in left}, {entry.path: entry for entry in right}
    changes = list(diff_trees(pages, before.root, after.root))
    assert [change.path for change in changes] == sorted(p for p in old.keys() | new.keys() if old.get(p) != new.get(p))
    assert all((change.before, change.after) == (old.get(change.path), new.get(change.path)) for change in changes)


@given(trees(), st.data())
def test_a_small_edit_equals_a_rebuild(entries: list[Entry], data: st.DataObject) -> None:
    state = {entry.path: entry for entry in entries}
    removals = data.draw(st.sets(st.sampled_from(sorted(state)))) if state else set()
    kept = {path: entry for path, entry in state.items() if path not in removals}
    new_paths = data.draw(st.sets(paths(), max_size=5))
    chosen = [path for path in without_conflicts(kept.keys() | new_paths) if path in new_paths]
    puts = [data.draw(entries_at(path)) for path in chosen]
    pages = MemoryPages()
    before = pages.build(entries)
    expected = kept | {entry.path: entry for entry in puts}
    dropped = {path[:at] for path in chosen for at in range(len(path)) if path[at : at + 1] == b"/"}
    conflict = any(path in kept and kept[path].kind != Kind.DIRECTORY for path in dropped)
    if conflict:
        with pytest.raises(BadPath):
            edit_tree(pages, before.root, puts, removals, pages.pages.__setitem__)
        return
    expected = {path: entry for path, entry in expected.items() if path not in dropped}
    rebuilt = MemoryPages().build(expected[path] for path in sorted(expected))
    edited = edit_tree(pages, before.root, puts, removals, pages.pages.__setitem__)
    assert (edited.root, before.files + edited.files_change) == (rebuilt.root, rebuilt.files)


def test_a_directory_that_holds_something_is_not_replaced() -> None:
    pages, _, tree = a_tree([Entry(b"a/b", Kind.FILE), Entry(b"a/c", Kind.FILE)])
    with pytest.raises(BadPath):
        edit_tree(pages, tree.root, [Entry(b"a", Kind.FILE)], [b"a/b"], lambda *_: None)
    edited = edit_tree(pages, tree.root, [Entry(b"a", Kind.FILE)], [b"a/b", b"a/c"], pages.pages.__setitem__)
    assert list(TreeReader(pages, edited.root).entries()) == [Entry(b"a", Kind.FILE)]


def test_a_file_is_not_a_directory_to_list() -> None:
    _, reader, _ = a_tree([Entry(b"a", Kind.FILE), Entry(b"b", Kind.DIRECTORY)])
    assert list_directory(reader, b"b").items == []
    for path in (b"a", b"c"):
        with pytest.raises(NotFound):
            list_directory(reader, path)


def test_the_builder_refuses_disorder_across_pages() -> None:
    many = [Entry(b"a-%06d" % n, Kind.FILE) for n in range(5000)]
    with pytest.raises(BadFormat):
        build_tree([Entry(b"a", Kind.FILE), *many, Entry(b"a/b", Kind.FILE)], lambda *_: None)
    with pytest.raises(BadFormat):
        build_tree([*many, many[0]], lambda *_: None)
    with pytest.raises(BadFormat):
        build_tree([Entry(b"b", Kind.FILE, 1, Content.BLOB, bytes(32)), Entry(b"a", Kind.FILE)], lambda *_: None)


@given(trees(), st.integers(1, 40))
def test_rows_make_the_same_tree_however_many_come_at_a_time(entries: list[Entry], size: int) -> None:
    pages = MemoryPages()
    builder = TreeBuilder(pages.pages.__setitem__)
    rows = [row_of(entry) for entry in entries]
    for start in range(0, len(rows), size):
        builder.extend(rows[start : start + size])
    assert builder.finish() == MemoryPages().build(entries)
