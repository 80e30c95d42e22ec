"""Checking a tree without reading all of it: its pages and where its blobs lie, a sample of files, a folder."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from millpond.lake.content import ContentReader
from millpond.lake.diff import compare
from millpond.lake.encoding import decode_blob
from millpond.lake.external_files import StandIns, stands_for
from millpond.lake.needs import blobs_needed
from millpond.lake.pages import LeafPage, PageRef
from millpond.lake.reader import PageSource, TreeReader
from millpond.lake.scan import Found, scan
from millpond.lake.stable_read import read_chunks
from millpond.lake.transfer import Downloader, Meter, Progress
from millpond.lake.verify import DAMAGE, Damage
from millpond.model.dataset import BlobPlace
from millpond.model.tree import Entry, Kind, TreeChange


def check_metadata(source: Downloader, root: str, *, progress: Progress | None = None) -> Iterator[Damage]:
    """Every page, every locator, a place for every blob, and that each pack reaches as far as they say."""
    reader = TreeReader(source, root)
    meter = Meter(progress)
    reach: dict[str, tuple[int, bytes]] = {}
    try:
        whole = reader.root_ref()
        meter.expect(whole.entries, whole.size, counted=True)
        for ref in reader.leaves():
            yield from _check_leaf(source, reader, ref, reach)
            meter.add(files=ref.entries, bytes=ref.size)
    except DAMAGE as error:  # an index page: what lies below it cannot be found
        yield Damage(error.message, ())
    for pack_id, (end, path) in reach.items():
        try:
            source.pack_range(pack_id, end - 1, end)
        except DAMAGE as error:
            yield Damage(f"Pack {pack_id} is not there or too short: {error.message}", (path,))
    meter.finish()


def check_sample(source: Downloader, root: str, count: int, *, progress: Progress | None = None) -> Iterator[Damage]:
    """Every byte of `count` files chosen at random."""
    reader = ContentReader(source, root)
    chosen = sample_paths(source, root, count)
    meter = Meter(progress)
    meter.expect(len(chosen), 0)
    for path in chosen:
        try:
            entry = reader.stat(path)
            size = _read(reader, entry) if entry is not None else 0
            meter.add(files=1, bytes=size)
        except DAMAGE as error:
            yield Damage(error.message, (path,))
    meter.finish()


def sample_paths(source: PageSource, root: str, count: int) -> list[bytes]:
    """Paths of `count` entries chosen at random, sorted; all of them if there are no more."""
    reader = TreeReader(source, root)
    total = reader.root_ref().entries
    numbers = sorted(random.sample(range(total), min(count, total)))
    found: list[bytes] = []
    passed = 0
    for ref in reader.leaves():
        while len(found) < len(numbers) and numbers[len(found)] < passed + ref.entries:
            found.append(reader.leaf(ref.id).paths[numbers[len(found)] - passed])
        passed += ref.entries
    return found


def check_directory(
    source: PageSource,
    root: str,
    directory: Path,
    *,
    chosen: Callable[[bytes], bool],
    reads: Callable[[bytes], bool],
    stand_ins: StandIns | None = None,
    progress: Progress | None = None,
) -> Iterator[TreeChange]:
    """Every path at which a working copy differs from those entries of a tree that are `chosen`.

    A file whose kind and size are right is read only if `reads` says so. Ignored files do not count.
    """
    reader = TreeReader(source, root)
    meter = Meter(progress)
    base = os.fsencode(directory)

    def present() -> Iterator[Entry]:
        for found in scan(directory):
            meter.add(files=1, bytes=found.size)
            entry = _as_found(base, found, reader.stat(found.path), reads)
            yield stands_for(stand_ins or {}, entry)

    return compare((entry for entry in reader.entries() if chosen(entry.path)), present())


def _as_found(base: bytes, found: Found, known: Entry | None, reads: Callable[[bytes], bool]) -> Entry:
    if found.kind == Kind.DIRECTORY or known is None or (known.kind, known.size) != (found.kind, found.size):
        return Entry(found.path, found.kind, found.size)
    return read_chunks(base, found.path, lambda digest, data: None).entry if reads(found.path) else known


def _read(reader: ContentReader, entry: Entry) -> int:
    """Read all of an entry, a few megabytes at a time."""
    step = 16 << 20
    content = reader.content_of(entry)
    for start in range(0, entry.size, step):
        reader.read(content, start, start + step)
    return entry.size


def _check_leaf(
    source: Downloader, reader: TreeReader, ref: PageRef, reach: dict[str, tuple[int, bytes]]
) -> Iterator[Damage]:
    try:
        leaf = reader.leaf(ref.id)
        places = source.locator(ref.id)
        needed = blobs_needed(leaf, lambda digests: _read_lists(source, places, digests))
    except DAMAGE as error:
        yield Damage(error.message, (ref.first,))
        return
    if (len(leaf), sum(leaf.sizes)) != (ref.entries, ref.size):
        yield Damage(f"Page {ref.id[:12]} does not hold as much as its parent says.", (ref.first,))
    for digest in needed:
        place = places.get(digest)
        if place is None:
            yield Damage(f"No locator says where blob {digest.hex()[:12]} lies.", _paths_of(leaf, digest))
        elif place.offset + place.stored > reach.get(place.pack_id, (0, b""))[0]:
            reach[place.pack_id] = (place.offset + place.stored, ref.first)


def _read_lists(
    source: Downloader, places: Mapping[bytes, BlobPlace], digests: Sequence[bytes]
) -> Mapping[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for place in (places[digest] for digest in digests if digest in places):
        stored = source.pack_range(place.pack_id, place.offset, place.offset + place.stored)
        found[place.digest] = bytes(decode_blob(place.digest, place.encoding, stored, place.raw))
    return found


def _paths_of(leaf: LeafPage, digest: bytes) -> tuple[bytes, ...]:
    return tuple(path for number, path in enumerate(leaf.paths) if leaf.digest(number) == digest)
