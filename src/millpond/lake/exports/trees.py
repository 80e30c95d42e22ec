"""What of a tree goes into an export: all of it, or what differs from a tree that the other side has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from millpond.errors import BadRequest, Corrupt
from millpond.lake.diff import diff_trees
from millpond.lake.encoding import decode_blob
from millpond.lake.exports.manifest import Side
from millpond.lake.exports.writing import ExportWriter
from millpond.lake.needs import blobs_needed
from millpond.lake.pages import LeafPage, PageRef
from millpond.lake.ranges import segments
from millpond.lake.reader import TreeReader
from millpond.lake.transfer import Downloader
from millpond.model.dataset import BlobPlace
from millpond.model.path import to_text
from millpond.model.tree import Content, TreeChange

# Blobs of the known tree that are looked for elsewhere in the new one: what has only moved is not written again.
_KNOWN_MOST = 500_000


@dataclass(frozen=True, slots=True)
class KnownTree:
    """A tree that the other side has, whole, and where it is read here."""

    source: Downloader
    tree: str


def add_tree(
    writer: ExportWriter, source: Downloader, root: str, known: KnownTree | None = None, side: Side | None = None
) -> None:
    """Add what is needed to make the tree `root`, where a `side` has the `known` one already.

    A server keeps pages, and finds a blob wherever it was. A volume has files alone: it gets all pages, also those of
    the known tree, and the whole content of every file that differs at its path.
    """
    reader = TreeReader(source, root)
    if known is None:
        _Added(writer, source, reader).add(reader.root_ref())
        return
    added = _AddedBeside(writer, source, reader, known=known, side=side)
    added.prepare()
    added.add(reader.root_ref())


@dataclass
class _Added:
    """All of a tree."""

    writer: ExportWriter
    source: Downloader
    reader: TreeReader

    def add(self, ref: PageRef) -> None:
        self.writer.write_page(self.source, ref.id)
        if ref.level:
            for child in self.reader.children(ref):
                self.add(child)
            return
        leaf = self.reader.leaf(ref.id)
        _refuse_external(leaf)
        if not self.writer.has_whole(ref.id):
            self.write_leaf(ref.id, leaf)
        self.writer.meter.add(files=leaf.files, bytes=sum(leaf.sizes))

    def write_leaf(self, leaf_id: str, leaf: LeafPage) -> None:
        self.writer.write_blobs(self.source, leaf_id, self.source.locator(leaf_id).values(), is_all=True)


@dataclass
class _AddedBeside(_Added):
    """What differs from a known tree."""

    known: KnownTree = field(kw_only=True)
    side: Side | None = field(kw_only=True)
    pages: set[str] = field(default_factory=set)
    blobs: set[bytes] = field(default_factory=set)
    changes: Iterator[TreeChange] = field(init=False)
    next_change: TreeChange | None = field(init=False)

    def prepare(self) -> None:
        """Find out what is there, before anything is written."""
        before = TreeReader(self.known.source, self.known.tree)
        self._note(before, before.root_ref())
        if self.side is Side.SERVER:
            new = {ref.id for ref in self.reader.leaves()}
            for ref in before.leaves():
                if ref.id not in new and len(self.blobs) < _KNOWN_MOST:
                    self.blobs.update(self.known.source.locator(ref.id))
        self.changes = diff_trees(self.source, self.known.tree, self.reader.root, before_source=self.known.source)
        self.next_change = next(self.changes, None)

    def add(self, ref: PageRef) -> None:
        if ref.id in self.pages:
            if self.side is Side.VOLUME:
                self._write_pages(self.reader, ref)
            self.writer.meter.add(files=ref.entries, bytes=ref.size)
            return
        super().add(ref)

    def write_leaf(self, leaf_id: str, leaf: LeafPage) -> None:
        places = self.source.locator(leaf_id)
        numbers = self._changed(leaf)
        if numbers:
            needed = blobs_needed(_part_of(leaf, numbers), lambda digests: self._read(places, digests))
            wanted = [_place(places, digest) for digest in needed if digest not in self.blobs]
            self.writer.write_blobs(self.source, leaf_id, wanted, is_all=False)

    def _changed(self, leaf: LeafPage) -> list[int]:
        """The numbers of the entries of this leaf that differ. Leaves and changes come in the order of paths."""
        changed: set[bytes] = set()
        last = leaf.paths[-1] if leaf.paths else b""
        while self.next_change is not None and self.next_change.path <= last:
            changed.add(self.next_change.path)
            self.next_change = next(self.changes, None)
        return [number for number, path in enumerate(leaf.paths) if path in changed]

    def _note(self, before: TreeReader, ref: PageRef) -> None:
        self.pages.add(ref.id)
        if self.side is Side.VOLUME:
            self.writer.write_page(self.known.source, ref.id)
        for child in before.children(ref) if ref.level else ():
            self._note(before, child)

    def _write_pages(self, reader: TreeReader, ref: PageRef) -> None:
        self.writer.write_page(self.source, ref.id)
        for child in reader.children(ref) if ref.level else ():
            self._write_pages(reader, child)

    def _read(self, places: Mapping[bytes, BlobPlace], digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Chunk lists: few and small."""
        found: dict[bytes, bytes] = {}
        for segment in segments(_place(places, digest) for digest in digests):
            data = memoryview(self.source.pack_range(segment.pack_id, segment.start, segment.end))
            for place in segment.places:
                at = place.offset - segment.start
                stored = data[at : at + place.stored]
                found[place.digest] = bytes(decode_blob(place.digest, place.encoding, stored, place.raw))
        return found


def _place(places: Mapping[bytes, BlobPlace], digest: bytes) -> BlobPlace:
    if (place := places.get(digest)) is None:
        raise Corrupt(f"No locator says where blob {digest.hex()[:12]} lies.", hint="Run: mill lake reindex")
    return place


def _part_of(leaf: LeafPage, numbers: Sequence[int]) -> LeafPage:
    return LeafPage(
        kinds=bytes(leaf.kinds[number] for number in numbers),
        contents=bytes(leaf.contents[number] for number in numbers),
        sizes=[leaf.sizes[number] for number in numbers],
        digests=b"".join(leaf.digest(number) for number in numbers),
        paths=[leaf.paths[number] for number in numbers],
    )


def _refuse_external(leaf: LeafPage) -> None:
    at = leaf.contents.find(Content.EXTERNAL)
    if at >= 0:
        raise BadRequest(
            f"Cannot export {to_text(leaf.paths[at])!r}: its content lies outside the lake.",
            hint="Copy such files into the dataset first: clone it, and sync the clone to another dataset.",
        )
