"""Renames: what is removed here and added there with equal content; nothing is lost or told twice."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from millpond.lake.diff import diff_trees
from millpond.lake.digests import digest_of
from millpond.lake.renames import summarise, with_renames
from millpond.model.tree import Content, Entry, Kind, TreeChange
from millpond.testing.lake import MemoryPages, many_files, trees


def file(path: str, text: str) -> Entry:
    return Entry(path.encode(), Kind.FILE, len(text), Content.BLOB, digest_of(text.encode()))


def difference(before: list[Entry], after: list[Entry]) -> list[TreeChange]:
    pages = MemoryPages()
    old, new = (pages.build(sorted(side, key=lambda entry: entry.path)) for side in (before, after))
    return list(diff_trees(pages, old.root, new.root))


def told(before: list[Entry], after: list[Entry]) -> list[tuple[str, str]]:
    changes = difference(before, after)
    return [(change.change, change.path.decode()) for change in with_renames(changes, summarise(changes))]


def test_a_file_that_moved_is_one_line() -> None:
    changes = difference([file("a", "x"), file("z", "kept")], [file("b/c", "x"), file("z", "kept")])
    summary = summarise(changes)
    (renamed,) = with_renames(changes, summary)
    assert (renamed.change, renamed.path, renamed.before) == ("renamed", b"b/c", file("a", "x"))
    assert (summary.added, summary.removed, summary.changed, summary.renamed) == (0, 0, 0, 1)
    assert (summary.added_bytes, summary.removed_bytes, summary.renamed_bytes) == (0, 0, 1)


def test_a_copy_is_no_rename() -> None:
    assert told([file("a", "x")], [file("a", "x"), file("b", "x")]) == [("added", "b")]


def test_of_equal_files_as_many_are_renamed_as_there_are_on_both_sides() -> None:
    before = [file("a/1", "x"), file("a/2", "x"), file("a/3", "x")]
    after = [file("b/1", "x"), file("b/2", "x")]
    assert told(before, after) == [("removed", "a/3"), ("renamed", "b/1"), ("renamed", "b/2")]


def test_what_has_no_content_or_another_mode_is_not_renamed() -> None:
    run = replace(file("run", "x"), kind=Kind.EXECUTABLE)
    assert told([Entry(b"empty", Kind.FILE)], [Entry(b"void", Kind.FILE)]) == [("removed", "empty"), ("added", "void")]
    assert told([file("a", "x")], [run]) == [("removed", "a"), ("added", "run")]


def test_a_directory_that_moved_comes_out_file_by_file() -> None:
    before = many_files(5000, "old/{:05d}".format)
    after = [replace(entry, path=entry.path.replace(b"old", b"new")) for entry in before]
    changes = difference(before, after)
    renamed = list(with_renames(changes, summarise(changes)))
    assert len(renamed) == 5000
    assert all(c.before is not None and c.before.path == c.path.replace(b"new", b"old") for c in renamed)


def test_beyond_its_memory_the_rest_is_added_and_removed() -> None:
    before = many_files(100, "old/{:05d}".format)
    after = [replace(entry, path=entry.path.replace(b"old", b"new")) for entry in before]
    summary = summarise(difference(before, after), candidates_most=120 * 220)
    assert not summary.complete
    assert summary.added == summary.removed == 100 - summary.renamed > 0


@given(trees(), trees())
def test_renames_are_the_same_difference_told_shorter(left: list[Entry], right: list[Entry]) -> None:
    changes = difference(left, right)
    summary = summarise(changes)
    short = list(with_renames(changes, summary))
    before, after = {e.path: e for e in left}, {e.path: e for e in right}
    for change in short:
        if change.before is not None:
            assert before.pop(change.before.path) == change.before
        if change.after is not None:
            before[change.path] = change.after
            assert after[change.path] == change.after
    assert before == after
    kinds = [change.change for change in short]
    counted = [summary.added, summary.removed, summary.changed, summary.renamed]
    assert counted == [kinds.count(kind) for kind in ("added", "removed", "changed", "renamed")]
    grown = sum(entry.size for entry in right) - sum(entry.size for entry in left)
    assert summary.added_bytes - summary.removed_bytes == grown


@given(trees(), trees())
def test_a_difference_can_be_read_from_any_path_on(left: list[Entry], right: list[Entry]) -> None:
    pages = MemoryPages()
    before, after = pages.build(left), pages.build(right)
    changes = list(diff_trees(pages, before.root, after.root))
    for number, change in enumerate(changes):
        assert list(diff_trees(pages, before.root, after.root, change.path)) == changes[number + 1 :]


def test_a_part_of_a_large_difference_reads_only_its_own_pages() -> None:
    pages = MemoryPages()
    before, after = pages.build(many_files(1)), pages.build(many_files(20_000))
    changes = list(diff_trees(pages, before.root, after.root))
    pages.reads.clear()
    assert list(diff_trees(pages, before.root, after.root, changes[-3].path)) == changes[-2:]
    assert len(pages.reads) <= 4
