"""Merging trees, against plain dictionaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.lake.digests import digest_of
from millpond.lake.edit import edit_tree
from millpond.lake.merge import Merged, merge_trees
from millpond.lake.reader import TreeReader
from millpond.model.tree import Content, Entry, Kind, TreeChange
from millpond.testing.lake import MemoryPages, many_files, without_conflicts

# Few paths, many of them directories of others, so that two sides meet often.
PATHS = [b"a", b"a-b", b"a/b", b"a/b/c", b"a/d", b"e", b"e/f", b"g"]

Model = dict[bytes, Entry]


def a_file(path: bytes, content: bytes = b"1", kind: Kind = Kind.FILE) -> Entry:
    return Entry(path, kind, len(content), Content.BLOB, digest_of(content))


def a_directory(path: bytes) -> Entry:
    return Entry(path, Kind.DIRECTORY)


@st.composite
def models(draw: st.DrawFn) -> Model:
    chosen = without_conflicts(draw(st.sets(st.sampled_from(PATHS))))
    kinds = st.sampled_from([a_file, a_directory, lambda path: a_file(path, b"2")])
    return {path: draw(kinds)(path) for path in chosen}


@st.composite
def three_sides(draw: st.DrawFn) -> tuple[Model, Model, Model]:
    """A base, and two sides that keep most of it."""
    base = draw(models())
    return base, _changed(draw, base), _changed(draw, base)


def _changed(draw: st.DrawFn, base: Model) -> Model:
    kept = {path: entry for path, entry in base.items() if draw(st.booleans()) or draw(st.booleans())}
    both = {**kept, **draw(models())}
    return {path: both[path] for path in without_conflicts(both)}


def merged_plainly(base: Model, ours: Model, theirs: Model) -> tuple[Model, set[bytes], bool]:
    """The merged tree, the paths both changed differently, and whether a file is a directory of another."""
    merged: Model = {}
    conflicts: set[bytes] = set()
    for path in {*base, *ours, *theirs}:
        old, our, their = base.get(path), ours.get(path), theirs.get(path)
        if our not in (old, their) and their != old:
            conflicts.add(path)
        taken = their if our in (old, their) else our
        if taken is not None:
            merged[path] = taken
    parents = {path for path in merged if any(other.startswith(path + b"/") for other in merged)}
    collides = any(merged[path].kind != Kind.DIRECTORY for path in parents)
    return {path: entry for path, entry in merged.items() if path not in parents}, conflicts, collides


def merge(base: Model, ours: Model, theirs: Model) -> tuple[Merged, MemoryPages, str]:
    pages = MemoryPages()
    roots = [pages.build(entry for _, entry in sorted(side.items())).root for side in (base, ours, theirs)]
    return merge_trees(pages, *roots), pages, roots[2]


def apply(merged: Merged, pages: MemoryPages, theirs: str) -> Model:
    edited = edit_tree(pages, theirs, merged.puts, merged.removals, pages.pages.__setitem__)
    return {entry.path: entry for entry in TreeReader(pages, edited.root).entries()}


@given(three_sides())
def test_merges_as_dictionaries_do(sides: tuple[Model, Model, Model]) -> None:
    expected, conflicts, collides = merged_plainly(*sides)
    merged, pages, theirs = merge(*sides)
    assert {c.path for c in merged.conflicts if c.ours.path == c.theirs.path} == conflicts
    if conflicts:
        return
    assert bool(merged.conflicts) == collides
    if not collides:
        assert apply(merged, pages, theirs) == expected
        assert all(change.before == sides[2].get(change.path) for change in merged.changes)
        assert all(change.before != change.after for change in merged.changes)


@given(three_sides())
def test_both_directions_agree(sides: tuple[Model, Model, Model]) -> None:
    base, ours, theirs = sides
    forth, *on_theirs = merge(base, ours, theirs)
    back, *on_ours = merge(base, theirs, ours)
    assert {c.path for c in forth.conflicts} == {c.path for c in back.conflicts}
    if not forth.conflicts:
        assert apply(forth, *on_theirs) == apply(back, *on_ours)


@given(models(), models())
def test_a_side_that_did_nothing_gives_way(base: Model, other: Model) -> None:
    assert merge(base, base, other)[0] == Merged([], [])
    merged, pages, theirs = merge(base, other, base)
    assert not merged.conflicts
    assert apply(merged, pages, theirs) == other


@given(models(), models())
def test_the_inverse_of_a_commit_undoes_it(before: Model, after: Model) -> None:
    merged, pages, theirs = merge(after, before, after)
    assert not merged.conflicts
    assert apply(merged, pages, theirs) == before


ONE, TWO, THREE = a_file(b"a", b"1"), a_file(b"a", b"2"), a_file(b"a", b"3")


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "words"),
    [
        ([ONE], [TWO], [THREE], "'a': you changed it, maria changed it"),
        ([ONE], [], [TWO], "'a': you removed it, maria changed it"),
        ([ONE], [a_file(b"a", b"1", Kind.EXECUTABLE)], [], "'a': you changed it, maria removed it"),
        ([], [TWO], [ONE], "'a': you added it, maria added it"),
        ([], [ONE], [a_file(b"a/b")], "'a': you added it, maria added 'a/b' below it"),
        ([], [a_file(b"a/b")], [ONE], "'a': maria added it, you added 'a/b' below it"),
    ],
)
def test_a_conflict_says_what_each_side_did(
    base: list[Entry], ours: list[Entry], theirs: list[Entry], words: str
) -> None:
    sides = [{entry.path: entry for entry in side} for side in (base, ours, theirs)]
    merged, *_ = merge(*sides)
    assert [conflict.describe("you", "maria") for conflict in merged.conflicts] == [words]


def test_an_empty_tree_needs_no_page() -> None:
    pages = MemoryPages()
    theirs = pages.build([a_file(b"b")]).root
    ours = pages.build([a_file(b"a"), a_file(b"b")]).root
    assert merge_trees(pages, None, ours, theirs) == Merged([TreeChange(b"a", None, a_file(b"a"))], [])
    assert merge_trees(pages, theirs, None, theirs).removals == [b"b"]


def test_reads_only_pages_that_differ() -> None:
    pages = MemoryPages()
    base = many_files(30_000)
    ours = [a_file(entry.path) if number == 100 else entry for number, entry in enumerate(base)]
    theirs = [a_file(entry.path) if number == 29_000 else entry for number, entry in enumerate(base)]
    roots = [pages.build(side).root for side in (base, ours, theirs)]
    merged = merge_trees(pages, *roots)
    assert [change.path for change in merged.changes] == [base[100].path]
    # Three roots, and the one leaf that each side changed with its counterpart in the base.
    assert len(set(pages.reads)) == 7
