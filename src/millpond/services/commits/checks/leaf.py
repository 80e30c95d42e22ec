"""Checks one new leaf page: every blob it names is there for the committer, and sizes agree; makes its locator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from millpond.db.blobs import PageRow, Within
from millpond.decide.allocation import BLOCK
from millpond.errors import BadFormat, Corrupt
from millpond.lake.chunks import decode_chunk_list
from millpond.lake.external import decode_descriptor
from millpond.lake.locators import pack_locator
from millpond.lake.pages import LeafPage, Row
from millpond.lake.tree import leaf_ends, leaf_ends_within
from millpond.model.dataset import BlobPlace
from millpond.model.path import to_text
from millpond.model.tree import Content, Kind
from millpond.services.commits.checks.blobs import read_blobs
from millpond.services.commits.packs.trust import is_job, usable_places
from millpond.services.deps import Deps

# What one name takes in a directory besides itself: the measure of ext4, whose blocks are three quarters full.
DIRECTORY_ENTRY = 20
# Bytes of chunk lists that the files of one leaf may have: some fifteen terabytes of content.
_LISTS_MOST = 512 << 20
# Where these stand in a row of a leaf. Entries as such cost as much to make as all checks of them together.
_CONTENT: Final = 2
_DIGEST: Final = 4
# What stands in a leaf for something that must be read to know the file.
_READ: Final = frozenset({Content.CHUNKS.value, Content.EXTERNAL.value})


@dataclass(frozen=True, slots=True)
class CheckedLeaf:
    row: PageRow
    # The object that says where its blobs lie, and the packs it names.
    locator: bytes = b""
    packs: frozenset[str] = frozenset()
    # Digests the committer must still send; the rest was not checked then.
    missing: tuple[bytes, ...] = field(default=())


@dataclass
class _Elsewhere:
    """What chunk lists and descriptors say: the sizes of their files, the chunks with their lengths, and behind which
    connections external ones lie."""

    sizes: dict[bytes, int] = field(default_factory=dict)
    # In order: what is wrong with the first is what is said.
    chunks: dict[tuple[bytes, int], None] = field(default_factory=dict)
    connections: set[str] = field(default_factory=set)


def check_leaf(
    deps: Deps, project_id: str, owner: str, page_id: str, leaf: LeafPage, within: Within | None = None
) -> CheckedLeaf:
    """The leaf's row and its locator, which is not written yet. BadFormat where sizes and contents do not agree."""
    row = row_of(page_id, leaf)
    named = [entry for entry in leaf.rows() if entry[_CONTENT] != Content.NOTHING]
    if is_job(owner) and any(entry[_CONTENT] == Content.EXTERNAL for entry in named):
        # Its token reads the job's inputs and nothing else; behind a connection there may be more.
        raise BadFormat("A job cannot commit files that are stored outside the lake.")
    places = usable_places(deps, project_id, owner, {entry[_DIGEST] for entry in named}, within)
    missing = [entry[_DIGEST] for entry in named if entry[_DIGEST] not in places]
    if missing:
        return CheckedLeaf(row, missing=tuple(dict.fromkeys(missing)))
    elsewhere = _read_elsewhere(deps, project_id, named, places)
    row = replace(row, external=frozenset(elsewhere.connections))
    chunks = usable_places(deps, project_id, owner, {digest for digest, _ in elsewhere.chunks}, within)
    missing = [digest for digest, _ in elsewhere.chunks if digest not in chunks]
    if missing:
        return CheckedLeaf(row, missing=tuple(dict.fromkeys(missing)))
    _check_sizes(named, places, elsewhere.sizes)
    _check_chunks(elsewhere.chunks, chunks)
    found = (places | chunks).values()
    return CheckedLeaf(row, pack_locator(found), frozenset(place.pack_id for place in found))


def row_of(page_id: str, leaf: LeafPage, external: frozenset[str] = frozenset()) -> PageRow:
    # As in docs/design/002: content in blocks, and blocks for the entries of each directory.
    directories = _directories(leaf)
    directory_bytes = sum(max(BLOCK, _blocks(taken)) for taken in directories.values())
    directory_bytes += (len(leaf) - leaf.files) * BLOCK  # empty ones
    return PageRow(
        id=page_id,
        level=0,
        entries=len(leaf),
        files=leaf.files,
        size=sum(leaf.sizes),
        allocated=sum(map(_blocks, leaf.sizes)) + directory_bytes,
        first_path=leaf.paths[0] if leaf.paths else b"",
        last_path=leaf.paths[-1] if leaf.paths else b"",
        external=external,
        # A symbolic link counts twice: beside a base, what a commit takes is all its inodes but those of files, and
        # links are made anew whatever else it shares.
        inodes=len(leaf) + len(directories) + leaf.kinds.count(Kind.SYMLINK),
        directory_bytes=directory_bytes,
    )


def check_boundaries(leaf: LeafPage, *, is_last: bool) -> None:
    """BadFormat unless the leaf ends where the format says: the same entries always make the same pages."""
    if not leaf.paths:
        return
    ends = is_last or leaf_ends(len(leaf), leaf.paths[-1], sum(map(len, leaf.paths)))
    if not ends or leaf_ends_within(leaf.paths):
        raise BadFormat("A leaf page ends in the wrong place.")


def _directories(leaf: LeafPage) -> dict[bytes, int]:
    """The directories its paths lie in, and what their entries take in each.

    One that goes on from the page before is counted again, so the sum over pages is never too little.
    """
    taken: dict[bytes, int] = {b"": 0}
    for path in leaf.paths:
        parent, _, name = path.rpartition(b"/")
        while parent not in taken:
            taken[parent] = DIRECTORY_ENTRY + len(name)
            parent, _, name = parent.rpartition(b"/")
        taken[parent] += DIRECTORY_ENTRY + len(name)
    return taken


def _blocks(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _read_elsewhere(deps: Deps, project_id: str, named: Sequence[Row], places: Mapping[bytes, BlobPlace]) -> _Elsewhere:
    """Chunk lists and descriptors are read one after the other: a hand-made list of a few kilobytes opens to many."""
    named_so = {(entry[_DIGEST], entry[_CONTENT]) for entry in named if entry[_CONTENT] in _READ}
    kinds = dict(named_so)
    if len(kinds) < len(named_so):
        raise BadFormat("A page uses one blob both as a chunk list and as a descriptor.")
    if sum(places[digest].raw for digest in kinds) > _LISTS_MOST:
        raise BadFormat("The large files of one page have too many chunks.")
    found = _Elsewhere()
    try:
        for digest, data in read_blobs(deps, project_id, [places[digest] for digest in kinds]):
            if kinds[digest] == Content.CHUNKS:
                chunks = decode_chunk_list(data)
                found.sizes[digest] = chunks.size
                found.chunks.update(dict.fromkeys(zip(chunks.digests, chunks.lengths, strict=True)))
            else:
                descriptor = decode_descriptor(data)
                found.sizes[digest] = descriptor.size
                found.connections.add(descriptor.connection)
    except Corrupt as error:
        raise BadFormat(f"Cannot read a chunk list or descriptor: {error.message}") from error
    return found


def _check_sizes(named: Sequence[Row], places: Mapping[bytes, BlobPlace], sizes: Mapping[bytes, int]) -> None:
    for path, _, content, told, digest in named:
        size = places[digest].raw if content == Content.BLOB else sizes[digest]
        if size != told:
            raise BadFormat(f"{to_text(path)!r} is listed with {told} bytes, but its content has {size}.")


def _check_chunks(told: Iterable[tuple[bytes, int]], chunks: Mapping[bytes, BlobPlace]) -> None:
    for digest, length in told:
        if chunks[digest].raw != length:
            raise BadFormat(f"Chunk {digest.hex()[:12]} is listed with a wrong length of {length} bytes.")
