"""What a server must refuse, and what it need not read again."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.errors import BadFormat, Incomplete, NotFound
from millpond.lake.check import blobs_needed, check_tree, locate
from millpond.lake.chunks import ChunkList, encode_chunk_list
from millpond.lake.digests import digest_of, id_of
from millpond.lake.edit import edit_tree
from millpond.lake.locators import unpack_locator
from millpond.lake.pages import LeafPage, PageRef, decode_page, encode_index, encode_leaf
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Content, Entry, Kind
from millpond.testing.lake import MemoryPages, many_files, trees


def leaf_of(entries: list[Entry]) -> LeafPage:
    page = decode_page(encode_leaf(entries))
    assert isinstance(page, LeafPage)
    return page


def a_forged_tree(pages: MemoryPages, leaves: list[list[bytes]], **lie: object) -> str:
    """A tree whose index says what we want of its leaves."""
    refs: list[PageRef] = []
    for paths in leaves:
        data = encode_leaf([Entry(path, Kind.FILE) for path in paths])
        pages.pages[id_of(data)] = data
        refs.append(replace(decode_page(data).ref(id_of(data)), **lie))  # type: ignore[arg-type]
        lie = {}
    data = encode_index(1, refs)
    pages.pages[id_of(data)] = data
    return id_of(data)


@given(trees())
def test_honest_trees_pass(entries: list[Entry]) -> None:
    pages = MemoryPages()
    tree = pages.build(entries)
    assert check_tree(pages, tree.root).tree == tree


def test_honest_large_trees_pass() -> None:
    pages = MemoryPages()
    tree = pages.build(many_files(12_000, lambda n: f"{n % 9}/a{n % 30}/{n}"))
    checked = check_tree(pages, tree.root)
    assert checked.tree == tree
    assert set(checked.new_pages) == set(pages.pages)


@pytest.mark.parametrize(
    "leaves",
    [
        [[b"b"], [b"a"]],
        [[b"a", b"c"], [b"b"]],
        [[b"a", b"b"], [b"b", b"c"]],
        [[b"a"], [b"a/b"]],
        [[b"a", b"a-b"], [b"a-c"], [b"a/b"]],
        [[b"x", b"y", b"y.1"], [b"y.2", b"y/z/deep"]],
    ],
)
def test_paths_must_be_right_across_pages(leaves: list[list[bytes]]) -> None:
    with pytest.raises(BadFormat):
        pages = MemoryPages()
        check_tree(pages, a_forged_tree(pages, leaves))


@pytest.mark.parametrize("lie", [{"entries": 7}, {"size": 1}, {"first": b"0"}])
def test_counts_must_be_true(lie: dict[str, object]) -> None:
    pages = MemoryPages()
    with pytest.raises(BadFormat):
        check_tree(pages, a_forged_tree(pages, [[b"a"], [b"b"]], **lie))


def test_a_root_has_more_than_one_child() -> None:
    pages = MemoryPages()
    with pytest.raises(BadFormat):
        check_tree(pages, a_forged_tree(pages, [[b"a"]]))


def test_levels_must_be_right() -> None:
    pages = MemoryPages()
    inner = a_forged_tree(pages, [[b"a"], [b"b"]])
    data = encode_index(1, [PageRef(inner, 0, 2, 0, b"a"), PageRef(inner, 0, 2, 0, b"b")])
    pages.pages[id_of(data)] = data
    with pytest.raises(BadFormat):
        check_tree(pages, id_of(data))


def test_a_page_that_is_not_there_is_named() -> None:
    pages = MemoryPages()
    root = a_forged_tree(pages, [[b"a"], [b"b"]])
    del pages.pages[next(iter(pages.pages))]
    with pytest.raises(NotFound):
        check_tree(pages, root)


class TestBesideAnAcceptedTree:
    def test_reads_only_what_is_new(self) -> None:
        pages = MemoryPages()
        entries = many_files(12_000)
        before = pages.build(entries)
        changed = edit_tree(
            pages, before.root, [Entry(b"dir005/new", Kind.FILE), Entry(b"zzz", Kind.DIRECTORY)],
            [entries[0].path], pages.pages.__setitem__,
        )  # fmt: skip
        pages.reads.clear()
        checked = check_tree(pages, changed.root, base=before.root, base_files=before.files)
        assert checked.tree.files == before.files + changed.files_change == 12_000
        assert len(set(pages.reads)) <= 10 < len(pages.pages)
        assert check_tree(pages, changed.root).tree == checked.tree

    @given(trees(), trees(), st.randoms())
    def test_the_answer_is_the_same(self, before: list[Entry], after: list[Entry], chance: random.Random) -> None:
        pages = MemoryPages()
        base, tree = pages.build(before), pages.build(after)
        assert check_tree(pages, tree.root, base=base.root, base_files=base.files).tree == tree

    def test_accepted_leaves_must_be_told_truly_too(self) -> None:
        pages = MemoryPages()
        base = a_forged_tree(pages, [[b"a", b"b"], [b"c"]])
        lying = a_forged_tree(pages, [[b"a", b"b"], [b"c"]], entries=9)
        with pytest.raises(BadFormat):
            check_tree(pages, lying, base=base, base_files=3)

    def test_accepted_leaves_cannot_be_put_in_another_order(self) -> None:
        pages = MemoryPages()
        base = a_forged_tree(pages, [[b"a", b"c"], [b"d"], [b"e"]])
        assert check_tree(pages, a_forged_tree(pages, [[b"a", b"c"], [b"e"]]), base=base, base_files=4)
        for wrong in ([[b"b"], [b"d"], [b"a", b"c"]], [[b"a", b"c"], [b"b"], [b"d"]]):
            with pytest.raises(BadFormat):
                check_tree(pages, a_forged_tree(pages, wrong), base=base, base_files=4)


class TestNeeds:
    chunks = ChunkList([digest_of(b"c1"), digest_of(b"c2")], [1 << 20, 5])
    listing = encode_chunk_list(chunks)
    entries = (
        Entry(b"big", Kind.FILE, chunks.size, Content.CHUNKS, digest_of(listing)),
        Entry(b"empty", Kind.FILE),
        Entry(b"ext", Kind.FILE, 9, Content.EXTERNAL, digest_of(b"descriptor")),
        Entry(b"link", Kind.SYMLINK, 4, Content.BLOB, digest_of(b"blob")),
        Entry(b"same", Kind.FILE, 4, Content.BLOB, digest_of(b"blob")),
    )

    def read(self, digests: object) -> dict[bytes, bytes]:
        return {digest_of(self.listing): self.listing}

    def places(self, digests: object) -> dict[bytes, BlobPlace]:
        lengths = {b"blob": 4, b"c1": 1 << 20, b"c2": 5, b"descriptor": 10, self.listing: len(self.listing)}
        return {digest_of(b): BlobPlace(digest_of(b), "0" * 32, 0, n, n, 0) for b, n in lengths.items()}

    def test_names_contents_lists_and_chunks(self) -> None:
        needed = blobs_needed(leaf_of(list(self.entries)), self.read)
        assert sorted(needed) == sorted(self.places(None))

    def test_makes_the_locator(self) -> None:
        locator = locate(leaf_of(list(self.entries)), self.read, self.places)
        assert unpack_locator(locator) == self.places(None)

    def test_a_foreign_digest_is_not_enough(self) -> None:
        def without(digests: object) -> dict[bytes, BlobPlace]:
            return {digest: place for digest, place in self.places(None).items() if digest != digest_of(b"c2")}

        with pytest.raises(Incomplete) as caught:
            locate(leaf_of(list(self.entries)), self.read, without)
        assert caught.value.details["missing"] == [digest_of(b"c2").hex()]

    def test_a_chunk_list_that_cannot_be_read_is_missing(self) -> None:
        with pytest.raises(Incomplete):
            blobs_needed(leaf_of(list(self.entries)), lambda digests: {})

    def test_sizes_must_be_those_of_the_content(self) -> None:
        wrong = replace(self.entries[0], size=self.chunks.size + 1)
        with pytest.raises(BadFormat):
            blobs_needed(leaf_of([wrong]), self.read)
        with pytest.raises(BadFormat):
            locate(leaf_of([replace(self.entries[4], size=3)]), self.read, self.places)
