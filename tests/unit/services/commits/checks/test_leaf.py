"""What a leaf says of the room that its entries take."""

from __future__ import annotations

from millpond.lake.pages import LeafPage
from millpond.model.tree import Content, Kind
from millpond.services.commits.checks.leaf import BLOCK, row_of


def test_links_of_a_commit_are_its_own_whatever_files_it_shares() -> None:
    kinds = [Kind.FILE, Kind.FILE, Kind.SYMLINK]
    leaf = LeafPage(bytes(kinds), bytes([Content.BLOB] * 3), [9000, 1, 5], bytes(96), [b"a/one", b"a/two", b"latest"])
    row = row_of("0" * 64, leaf)
    assert (row.files, row.allocated) == (3, (3 + 1 + 1 + 2) * BLOCK), "two directories"
    assert row.inodes is not None
    assert row.inodes - row.files == 3, "beside a commit that has the files: two directories and the link"
