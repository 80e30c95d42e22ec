"""No entry of a tree is a directory of another, wherever its pages are cut and whichever of them were read before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from millpond.errors import BadFormat
from millpond.lake.digests import digest_of
from millpond.lake.pages import LeafPage, decode_page, encode_index, encode_leaf
from millpond.model.tree import Entry, Kind
from millpond.services.commits.checks.paths import check_directories, ends_of

_PARTS = st.sampled_from([b"a", b"b", b"a-", b"a0", b"a.b", b"aa"])
_PATHS = st.lists(st.lists(_PARTS, min_size=1, max_size=3).map(b"/".join), min_size=2, max_size=12, unique=True)


class Pages:
    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def page(self, page_id: str) -> bytes:
        return self.data[page_id]

    def add(self, data: bytes) -> str:
        page_id = digest_of(data).hex()
        self.data[page_id] = data
        return page_id

    def leaf(self, page_id: str) -> LeafPage:
        page = decode_page(self.data[page_id])
        assert isinstance(page, LeafPage)
        return page


def _has_conflict(paths: Sequence[bytes]) -> bool:
    return any(other.startswith(path + b"/") for path in paths for other in paths)


@given(paths=_PATHS.map(sorted), cuts=st.sets(st.integers(1, 11)), read=st.sets(st.integers(0, 11)), some=st.booleans())
def test_agrees_with_looking_at_every_pair(paths: list[bytes], cuts: set[int], read: set[int], some: bool) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(paths)), len(paths)]
    groups = [paths[low:high] for low, high in pairwise(edges)]
    assume(not any(map(_has_conflict, groups)))  # such a page is refused by itself
    pages = Pages()
    leaves = [pages.add(encode_leaf([Entry(path, Kind.FILE) for path in group])) for group in groups]
    refs = [pages.leaf(page_id).ref(page_id) for page_id in leaves]
    root = pages.add(encode_index(1, refs)) if len(refs) > 1 else leaves[0]
    ends = {page_id: ends_of(pages.leaf(page_id)) for number, page_id in enumerate(leaves) if number in read}
    settled = leaves[0] if some else None
    if _has_conflict(paths):
        with pytest.raises(BadFormat, match="both an entry"):
            check_directories(pages, root, settled, ends)
    else:
        check_directories(pages, root, settled, ends)
