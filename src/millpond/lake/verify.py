"""Checking bytes: every blob of a tree in the lake, or every file of a directory against a tree."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.errors import BadRequest, ChangedOutside, Corrupt, Incomplete, NotFound
from millpond.lake.chunks import decode_chunk_list
from millpond.lake.diff import compare
from millpond.lake.encoding import decode_blob
from millpond.lake.needs import blobs_needed
from millpond.lake.pages import LeafPage, PageRef
from millpond.lake.ranges import Segment, segments
from millpond.lake.reader import PageSource, TreeReader
from millpond.lake.scan import scan
from millpond.lake.stable_read import read_chunks
from millpond.lake.transfer import Downloader, Meter, Progress
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Content, Entry, Kind, TreeChange

# What a damaged or missing object looks like; anything else (a store that is away) is an error of the check itself.
DAMAGE = (Corrupt, BadRequest, NotFound, Incomplete, ChangedOutside)


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing in the lake that is not what it should be. `paths` are entries that it takes along."""

    what: str
    paths: tuple[bytes, ...]


def verify_tree(source: Downloader, root: str, *, progress: Progress | None = None) -> Iterator[Damage]:
    """Read every byte of a tree from the lake and check it."""
    reader = TreeReader(source, root)
    meter = Meter(progress)
    try:
        whole = reader.root_ref()
        meter.expect(whole.entries, whole.size, counted=True)
        for ref in reader.leaves():
            yield from _verify_page(source, reader, ref)
            meter.add(files=ref.entries, bytes=ref.size)
    except DAMAGE as error:  # an index page: what lies below it cannot be found
        yield Damage(error.message, ())
    meter.finish()


def verify_directory(source: PageSource, root: str, directory: Path) -> Iterator[TreeChange]:
    """Every path at which the directory differs from the tree, having read every file. Nothing is ignored."""
    return compare(TreeReader(source, root).entries(), _read_directory(directory))


def _verify_page(source: Downloader, reader: TreeReader, ref: PageRef) -> Iterator[Damage]:
    try:
        leaf = reader.leaf(ref.id)
        places = source.locator(ref.id)
    except DAMAGE as error:
        yield Damage(error.message, (ref.first,))
        return
    yield from _verify_leaf(source, leaf, places)
    yield from _verify_external(source, leaf)


def _verify_leaf(source: Downloader, leaf: LeafPage, places: Mapping[bytes, BlobPlace]) -> Iterator[Damage]:
    lists: dict[bytes, bytes] = {}

    def read(digests: Sequence[bytes]) -> dict[bytes, bytes]:
        lists.update({digest: _read_blob(source, places[digest]) for digest in digests if digest in places})
        return lists

    try:
        needed = blobs_needed(leaf, read)
    except DAMAGE as error:
        yield Damage(error.message, tuple(leaf.paths))
        return
    owners = _owners(leaf, lists)
    for digest in (digest for digest in needed if digest not in places):
        yield Damage(f"No locator says where blob {digest.hex()[:12]} lies.", owners[digest])
    for segment in segments(places[digest] for digest in needed if digest in places):
        yield from _verify_segment(source, segment, owners)


def _verify_external(source: Downloader, leaf: LeafPage) -> Iterator[Damage]:
    """Every byte of what lies outside the lake, too."""
    found = [entry for entry in leaf.entries() if entry.content is Content.EXTERNAL]
    if found:
        source.expect_external(found)
    for entry in found:
        try:
            came = sum(len(part) for part in source.external(entry, 0, entry.size))
            if came != entry.size:
                yield Damage(f"It has {came} bytes, not {entry.size}.", (entry.path,))
        except DAMAGE as error:
            yield Damage(error.message, (entry.path,))


def _verify_segment(
    source: Downloader, segment: Segment, owners: Mapping[bytes, tuple[bytes, ...]]
) -> Iterator[Damage]:
    try:
        view = memoryview(source.pack_range(segment.pack_id, segment.start, segment.end))
    except DAMAGE as error:
        for place in segment.places:
            yield Damage(error.message, owners[place.digest])
        return
    for place in segment.places:
        start = place.offset - segment.start
        try:
            decode_blob(place.digest, place.encoding, view[start : start + place.stored], place.raw)
        except Corrupt as error:
            yield Damage(error.message, owners[place.digest])


def _read_blob(source: Downloader, place: BlobPlace) -> bytes:
    stored = source.pack_range(place.pack_id, place.offset, place.offset + place.stored)
    return bytes(decode_blob(place.digest, place.encoding, stored, place.raw))


def _owners(leaf: LeafPage, lists: Mapping[bytes, bytes]) -> dict[bytes, tuple[bytes, ...]]:
    """Which entries each blob of a leaf belongs to, the chunks of large files included."""
    found: dict[bytes, tuple[bytes, ...]] = {}
    for number, path in enumerate(leaf.paths):
        digest = leaf.digest(number)
        chunks = decode_chunk_list(lists[digest]).digests if leaf.contents[number] == Content.CHUNKS else ()
        for blob in (digest, *dict.fromkeys(chunks)):
            found[blob] = (*found.get(blob, ()), path)
    return found


def _read_directory(directory: Path) -> Iterator[Entry]:
    root = os.fsencode(directory)
    for found in scan(directory, ignore_files=()):
        if found.kind == Kind.DIRECTORY:
            yield Entry(found.path, Kind.DIRECTORY)
        else:
            yield read_chunks(root, found.path, lambda digest, data: None).entry
