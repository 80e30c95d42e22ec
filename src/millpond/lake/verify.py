"""Checking bytes: every blob of a tree in the lake, or every file of a directory against a tree."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.errors import BadFormat, Corrupt, Incomplete, NotFound
from millpond.lake.diff import compare
from millpond.lake.encoding import decode_blob
from millpond.lake.needs import blobs_needed
from millpond.lake.pages import LeafPage
from millpond.lake.ranges import Segment, segments
from millpond.lake.reader import PageSource, TreeReader
from millpond.lake.reading import read_chunks
from millpond.lake.scan import scan
from millpond.lake.transfer import Downloader, Meter, Progress
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Entry, Kind, TreeChange


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing in the lake that is not what it should be. `paths` are entries that it takes along."""

    what: str
    paths: tuple[bytes, ...]


def verify_tree(source: Downloader, root: str, *, progress: Progress | None = None) -> Iterator[Damage]:
    """Read every byte of a tree from the lake and check it."""
    reader = TreeReader(source, root)
    meter = Meter(progress)
    whole = reader.root_ref()
    meter.expect(whole.entries, whole.size, counted=True)
    for ref in reader.leaves():
        try:
            leaf = reader.leaf(ref.id)
            places = source.locator(ref.id)
        except (Corrupt, BadFormat, NotFound) as error:
            yield Damage(error.message, (ref.first,))
            continue
        yield from _verify_leaf(source, leaf, places)
        meter.add(files=len(leaf), bytes=ref.size)
    meter.finish()


def verify_directory(source: PageSource, root: str, directory: Path) -> Iterator[TreeChange]:
    """Every path at which the directory differs from the tree, having read every file. Nothing is ignored."""
    return compare(TreeReader(source, root).entries(), _read_directory(directory))


def _verify_leaf(source: Downloader, leaf: LeafPage, places: Mapping[bytes, BlobPlace]) -> Iterator[Damage]:
    def read(digests: Sequence[bytes]) -> dict[bytes, bytes]:
        return {digest: _read_blob(source, places[digest]) for digest in digests if digest in places}

    try:
        needed = blobs_needed(leaf, read)
    except (Corrupt, BadFormat, NotFound, Incomplete) as error:
        yield Damage(error.message, tuple(leaf.paths))
        return
    lost = [digest for digest in needed if digest not in places]
    for digest in lost:
        yield Damage(f"No locator says where blob {digest.hex()[:12]} lies.", _paths_of(leaf, digest))
    for segment in segments(places[digest] for digest in needed if digest in places):
        yield from _verify_segment(source, leaf, segment)


def _verify_segment(source: Downloader, leaf: LeafPage, segment: Segment) -> Iterator[Damage]:
    try:
        view = memoryview(source.pack_range(segment.pack_id, segment.start, segment.end))
    except (NotFound, BadFormat) as error:
        for place in segment.places:
            yield Damage(error.message, _paths_of(leaf, place.digest))
        return
    for place in segment.places:
        start = place.offset - segment.start
        try:
            decode_blob(place.digest, place.encoding, view[start : start + place.stored], place.raw)
        except Corrupt as error:
            yield Damage(error.message, _paths_of(leaf, place.digest))


def _read_blob(source: Downloader, place: BlobPlace) -> bytes:
    stored = source.pack_range(place.pack_id, place.offset, place.offset + place.stored)
    return bytes(decode_blob(place.digest, place.encoding, stored, place.raw))


def _paths_of(leaf: LeafPage, digest: bytes) -> tuple[bytes, ...]:
    """The entries with this content; none for a chunk of a larger file."""
    return tuple(path for number, path in enumerate(leaf.paths) if leaf.digest(number) == digest)


def _read_directory(directory: Path) -> Iterator[Entry]:
    root = os.fsencode(directory)
    for found in scan(directory, ignore_files=()):
        if found.kind == Kind.DIRECTORY:
            yield Entry(found.path, Kind.DIRECTORY)
        else:
            yield read_chunks(root, found.path, lambda digest, data: None).entry
