"""Checking a tree that a client wants to commit, and finding what it needs to be complete.

A client may write any bytes as pages. Before a commit the server reads those that are new and makes sure that the
whole is a tree: every page canonical, counts true, paths sorted across pages, no path a directory of another.
What it shares with a tree that was accepted before is known to be right and not read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from millpond.errors import BadFormat, Incomplete
from millpond.lake.chunks import decode_chunk_list
from millpond.lake.locators import pack_locator
from millpond.lake.pages import LeafPage, PageRef
from millpond.lake.reader import PageSource, TreeReader
from millpond.lake.tree import Tree
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Content

# The content of blobs by digest, for chunk lists: few and small, asked for in one call.
ReadBlobs = Callable[[Sequence[bytes]], Mapping[bytes, bytes]]
# Where blobs lie, for those digests that the upload may use; others are left out.
FindPlaces = Callable[[Sequence[bytes]], Mapping[bytes, BlobPlace]]


@dataclass(frozen=True, slots=True)
class CheckedTree:
    """A tree that may be committed once its new leaves have locators."""

    tree: Tree
    new_pages: tuple[str, ...]
    new_leaves: tuple[str, ...]


def check_tree(source: PageSource, root: str, *, base: str | None = None, base_files: int = 0) -> CheckedTree:
    """Check the tree `root`. `base` is a tree accepted before, of `base_files` files, that it probably resembles.

    BadFormat says what is wrong; NotFound names a page that is not there.
    """
    reader = TreeReader(source, root)
    old = _Base(source, base)
    leaves, new_pages = _leaves(reader, old)
    new = [ref for ref in leaves if ref.id not in old.leaves]
    files = base_files
    for ref in new:
        leaf = reader.leaf(ref.id)
        files += leaf.files
        if leaf.ref(ref.id) != ref or (not leaf.paths and len(leaves) > 1):
            raise BadFormat(f"The parent of page {ref.id[:12]} does not describe it truly.")
        _check_no_directory_across_pages(reader, leaf)
    _check_order(reader, leaves, old)
    kept = {ref.id for ref in leaves}
    files -= sum(old.reader.leaf(page).files for page in old.leaves if page not in kept) if old.reader else 0
    whole = reader.root_ref()
    tree = Tree(root, whole.entries, files, whole.size)
    return CheckedTree(tree, tuple(new_pages), tuple(ref.id for ref in new))


def blobs_needed(leaf: LeafPage, read_blobs: ReadBlobs) -> list[bytes]:
    """Every blob that the entries of a leaf need, each once: contents, chunk lists and their chunks.

    BadFormat if a chunk list does not add up to the size of its file; Incomplete if one cannot be read.
    """
    needed: dict[bytes, None] = {}
    sizes: dict[bytes, int] = {}
    for number, content in enumerate(leaf.contents):
        if content == Content.NOTHING:
            continue
        digest = leaf.digest(number)
        needed[digest] = None
        if content == Content.CHUNKS and sizes.setdefault(digest, leaf.sizes[number]) != leaf.sizes[number]:
            raise BadFormat("One chunk list stands for two sizes.")
    lists = read_blobs(list(sizes)) if sizes else {}
    for digest, size in sizes.items():
        if digest not in lists:
            raise Incomplete(f"The chunk list {digest.hex()[:12]} is not in the project.")
        chunks = decode_chunk_list(lists[digest])
        if chunks.size != size:
            raise BadFormat("The chunks of a file do not add up to its size.")
        needed.update(dict.fromkeys(chunks.digests))
    return list(needed)


def locate(leaf: LeafPage, read_blobs: ReadBlobs, find_places: FindPlaces) -> bytes:
    """The stored locator of a leaf. Incomplete if a blob that it needs may not be used; `missing` lists them."""
    needed = blobs_needed(leaf, read_blobs)
    places = find_places(needed)
    missing = [digest for digest in needed if digest not in places]
    if missing:
        raise Incomplete(
            f"{len(missing)} blobs of this commit are not in the project.",
            hint="Send them again.",
            missing=[digest.hex() for digest in missing[:1000]],
        )
    _check_sizes(leaf, places)
    return pack_locator(places[digest] for digest in needed)


class _Base:
    """The leaves of the accepted tree with their neighbours."""

    def __init__(self, source: PageSource, root: str | None) -> None:
        self.reader = None if root is None else TreeReader(source, root)
        refs = list(self.reader.leaves()) if self.reader else []
        self.leaves = {ref.id: ref for ref in refs}
        self.pairs = {(left.id, right.id) for left, right in pairwise(refs)}


def _leaves(reader: TreeReader, old: _Base) -> tuple[list[PageRef], list[str]]:
    """All leaves in order, and the ids of pages that are not known from the base, having checked the index pages."""
    known_index: set[str] = set()
    if old.reader:
        known_index = {ref.id for ref in _index_pages(old.reader, old.reader.root_ref())}
    level = [reader.root_ref()]
    new_pages: list[str] = []
    if level[0].level and len(reader.children(level[0])) < 2:
        raise BadFormat("The root of a tree has one child: that should be the root.")
    while level[0].level:
        below: list[PageRef] = []
        for ref in level:
            children = reader.children(ref)
            if ref.id not in known_index:
                new_pages.append(ref.id)
                _check_counts(ref, children)
            below += children
        level = below
    # A leaf that the base has is right only if it is described as it is there.
    for ref in level:
        if old.leaves.get(ref.id, ref) != ref:
            raise BadFormat(f"The parent of page {ref.id[:12]} does not describe it truly.")
    new_pages += [ref.id for ref in level if ref.id not in old.leaves]
    return level, new_pages


def _index_pages(reader: TreeReader, ref: PageRef) -> Iterator[PageRef]:
    if ref.level:
        yield ref
        for child in reader.children(ref):
            if child.level:
                yield from _index_pages(reader, child)


def _check_counts(ref: PageRef, children: Iterable[PageRef]) -> None:
    found = list(children)
    counted = (sum(c.entries for c in found), sum(c.size for c in found), found[0].first)
    if counted != (ref.entries, ref.size, ref.first):
        raise BadFormat(f"The parent of page {ref.id[:12]} does not describe it truly.")


def _check_order(reader: TreeReader, leaves: list[PageRef], old: _Base) -> None:
    """Each leaf begins behind the end of the one before it; neighbours in the base are known to."""
    for left, right in pairwise(leaves):
        if (left.id, right.id) not in old.pairs and reader.leaf(left.id).paths[-1] >= right.first:
            raise BadFormat("The paths of a tree are not sorted across its pages.")


def _check_no_directory_across_pages(reader: TreeReader, leaf: LeafPage) -> None:
    """Within the leaf this is known. Outside it, only few paths can be a directory of, or lie below, its own:

    whatever stands between `a` and `a/b` begins with `a`, so it spans the edge of the leaf only if the path at
    that edge begins with it.
    """
    if not leaf.paths:
        return
    first, last = leaf.paths[0], leaf.paths[-1]
    parents = {path[:at] for path in leaf.paths for at in _slashes(path)}
    above = [parent for parent in parents if parent < first and first.startswith(parent)]
    below = [path for path in leaf.paths if last.startswith(path)]
    if any(reader.stat(parent) for parent in above) or any(
        next(reader.entries(path), None) is not None for path in below
    ):
        raise BadFormat("A tree holds an entry that is a directory of another.")


def _slashes(path: bytes) -> Iterator[int]:
    at = path.find(b"/")
    while at >= 0:
        yield at
        at = path.find(b"/", at + 1)


def _check_sizes(leaf: LeafPage, places: Mapping[bytes, BlobPlace]) -> None:
    for number, content in enumerate(leaf.contents):
        if content == Content.BLOB and places[leaf.digest(number)].raw != leaf.sizes[number]:
            raise BadFormat("A page gives a file another size than its content has.")
