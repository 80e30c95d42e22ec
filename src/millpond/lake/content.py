"""Reading single files of a tree in place: only the blobs that a range touches are fetched, and each is checked."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, takewhile

from millpond.blobs.store import Buffer
from millpond.errors import BadPath, BadRequest, Corrupt, NotFound
from millpond.lake.blocks import BlockCache, BlockReader
from millpond.lake.chunks import decode_chunk_list
from millpond.lake.encoding import decode_blob
from millpond.lake.listing import Listed, list_directory
from millpond.lake.lru import Kept
from millpond.lake.ranges import Segment, segments
from millpond.lake.reader import TreeReader
from millpond.lake.transfer import Downloader
from millpond.model.dataset import BlobPlace
from millpond.model.path import check_path, to_text
from millpond.model.tree import Content, Entry, Kind

CACHE_BYTES = 32 << 20
_LISTS_KEPT = 256
_LOCATORS_KEPT = 16
_WORKERS = 4
# As many links as Linux follows.
_LINKS_MOST = 40


@dataclass(frozen=True, slots=True)
class Piece:
    """One blob of a file, and where in the file it begins."""

    start: int
    place: BlobPlace


@dataclass(frozen=True, slots=True)
class FileContent:
    """One file and the blobs it is made of, none of which need have been read; an external one has none."""

    entry: Entry
    pieces: Sequence[Piece]

    @property
    def is_external(self) -> bool:
        return self.entry.content == Content.EXTERNAL

    @property
    def size(self) -> int:
        return self.entry.size

    def touching(self, start: int, end: int) -> Iterator[Piece]:
        """The pieces that hold bytes from `start` to `end` (not included)."""
        number = max(bisect_right(self.pieces, start, key=lambda piece: piece.start) - 1, 0)
        return takewhile(lambda piece: piece.start < end, islice(self.pieces, number, None))


class ContentReader:
    """Reads the files of one tree, from several threads. Keeps a few pages, locators and blobs.

    With `block_cache`, small files of a tree that fits into it are read in blocks of packs.
    """

    def __init__(
        self, source: Downloader, root: str, *, cache_bytes: int = CACHE_BYTES, block_cache: BlockCache | None = None
    ) -> None:
        self._source = source
        self._tree = TreeReader(source, root)
        self._tree_lock = threading.Lock()
        self._locators = Kept[str, Mapping[bytes, BlobPlace]](_LOCATORS_KEPT)
        self._lists = Kept[bytes, Sequence[Piece]](_LISTS_KEPT)
        self._blobs = Kept[bytes, Buffer](cache_bytes, weigh=len)
        self._blocks = BlockReader(block_cache, source.pack_range) if block_cache else None
        self._fits: bool | None = None
        self._block_bytes = block_cache.most_bytes if block_cache else 0

    def stat(self, path: bytes) -> Entry | None:
        """The entry at exactly this path; None for a directory that holds something, and for nothing."""
        with self._tree_lock:
            return self._tree.stat(path)

    def is_directory(self, path: bytes) -> bool:
        with self._tree_lock:
            return self._tree.is_directory(path)

    def listing(self, directory: bytes) -> list[Listed]:
        """Everything in one directory; NotFound for what is none."""
        items: list[Listed] = []
        start: bytes | None = b""
        while start is not None:
            with self._tree_lock:
                part = list_directory(self._tree, directory, start)
            items += part.items
            start = part.next
        return items

    def beginning_with(self, prefix: bytes) -> Iterator[Entry]:
        """Every entry whose path begins with these bytes, in order. Others may read meanwhile."""
        entries = self._tree.beginning_with(prefix)
        while True:
            with self._tree_lock:
                entry = next(entries, None)
            if entry is None:
                return
            yield entry

    def open(self, path: bytes) -> FileContent:
        """One file, following links inside the tree. NotFound, or BadRequest for what is not a file."""
        entry = self.resolve(path)
        if entry is None:
            if self.is_directory(path):
                raise BadRequest(f"{to_text(path)!r} is a directory.")
            raise NotFound(f"There is no file {to_text(path)!r} in this commit.")
        if not entry.kind.is_file:
            raise BadRequest(f"{to_text(path)!r} is a directory.")
        return self.content_of(entry)

    def content_of(self, entry: Entry) -> FileContent:
        """The content of an entry of this tree: a file's bytes, a link's target."""
        return FileContent(entry, self._pieces(entry))

    def resolve(self, path: bytes) -> Entry | None:
        """The entry a path leads to, through links; None where it leads to nothing or out of the tree."""
        end = self.end_of(path)
        return self.stat(end) if end is not None else None

    def end_of(self, path: bytes) -> bytes | None:
        """Where a path leads, through links, whether something lies there or not; None for out of the tree."""
        for _ in range(_LINKS_MOST):
            entry = self.stat(path)
            if entry is not None and entry.kind != Kind.SYMLINK:
                return path
            link = entry or self._link_above(path)
            if link is None:
                return path
            target = self.read(self.content_of(link), 0, link.size)
            led = _join(link.path.rpartition(b"/")[0], target + path[len(link.path) :])
            if led is None:
                return None
            path = led
        raise BadPath(f"{to_text(path)!r} leads through too many links.")

    def read(self, content: FileContent, start: int, end: int) -> bytes:
        """Bytes `start` to `end` (not included), as far as the file goes."""
        end = min(end, content.size)
        if content.is_external and start < end:
            return b"".join(self._source.external(content.entry, start, end))
        return self._cut(content, start, end, self._fetch(content.touching(start, end))) if start < end else b""

    def read_many(self, wanted: Sequence[tuple[FileContent, int, int]]) -> list[bytes]:
        """Several ranges of several files at once: neighbours in the lake are read together."""
        clipped = [(content, start, min(end, content.size)) for content, start, end in wanted]
        if outside := [content.entry for content, _, _ in clipped if content.is_external]:
            self._source.expect_external(outside)
        blobs = self._fetch(piece for content, start, end in clipped for piece in content.touching(start, end))
        return [
            self.read(content, start, end) if content.is_external else self._cut(content, start, end, blobs)
            for content, start, end in clipped
        ]

    def _cut(self, content: FileContent, start: int, end: int, blobs: Mapping[bytes, Buffer]) -> bytes:
        parts = (
            memoryview(blobs[piece.place.digest])[max(start - piece.start, 0) : end - piece.start]
            for piece in content.touching(start, end)
        )
        return b"".join(parts)

    def _pieces(self, entry: Entry) -> Sequence[Piece]:
        if entry.content in (Content.NOTHING, Content.EXTERNAL):
            return ()
        known = self._lists.get(entry.digest)
        if known is None:
            known = self._find_pieces(entry)
            self._lists.put(entry.digest, known)
        if sum(piece.place.raw for piece in known) != entry.size:
            raise Corrupt(f"The blobs of {to_text(entry.path)!r} do not add up to its size.")
        return known

    def _find_pieces(self, entry: Entry) -> Sequence[Piece]:
        places = self._locator(entry.path)
        whole = _place(places, entry.digest)
        if entry.content == Content.BLOB:
            return (Piece(0, whole),)
        chunks = decode_chunk_list(self._fetch([Piece(0, whole)])[entry.digest])
        starts = _starts(chunks.lengths)
        return tuple(Piece(start, _place(places, digest)) for start, digest in zip(starts, chunks.digests, strict=True))

    def _locator(self, path: bytes) -> Mapping[bytes, BlobPlace]:
        with self._tree_lock:
            leaf = self._tree.leaf_of(path)
        found = self._locators.get(leaf)
        if found is None:
            found = self._source.locator(leaf)
            self._locators.put(leaf, found)
            if self._blocks is not None and self._fits_into_blocks():
                self._blocks.note(found.values())
        return found

    def _fits_into_blocks(self) -> bool:
        """In a tree that does not, whole blocks would be fetched and thrown away for single files."""
        if self._fits is None:
            with self._tree_lock:
                self._fits = self._tree.root_ref().size <= self._block_bytes
        return self._fits

    def _link_above(self, path: bytes) -> Entry | None:
        """The link that stands where `path` has a directory."""
        at = path.find(b"/")
        while at >= 0:
            entry = self.stat(path[:at])
            if entry is not None:
                return entry if entry.kind == Kind.SYMLINK else None
            at = path.find(b"/", at + 1)
        return None

    def _fetch(self, pieces: Iterable[Piece]) -> dict[bytes, Buffer]:
        """The blobs of these pieces, from memory where they are kept."""
        found: dict[bytes, Buffer] = {}
        absent: dict[bytes, BlobPlace] = {}
        for place in (piece.place for piece in pieces):
            kept = self._blobs.get(place.digest)
            if kept is None and self._blocks is not None:
                kept = self._from_block(self._blocks, place)
            if kept is None:
                absent[place.digest] = place
            else:
                found[place.digest] = kept
        for blobs in self._read_segments(list(segments(absent.values()))):
            for digest, data in blobs:
                found[digest] = data
                self._blobs.put(digest, data)
        return found

    def _from_block(self, blocks: BlockReader, place: BlobPlace) -> Buffer | None:
        """Not kept in memory as well: it is in the machine's already."""
        stored = blocks.stored(place)
        if stored is None:
            return None
        try:
            return bytes(decode_blob(place.digest, place.encoding, stored, place.raw))
        except Corrupt:
            blocks.drop(place)
            return None

    def _read_segments(self, planned: Sequence[Segment]) -> Iterable[list[tuple[bytes, Buffer]]]:
        if len(planned) <= 1:
            return map(self._read_segment, planned)
        # Not kept between calls: a pool does not survive a fork, and data loaders fork.
        with ThreadPoolExecutor(min(_WORKERS, len(planned)), "content") as pool:
            return list(pool.map(self._read_segment, planned))

    def _read_segment(self, segment: Segment) -> list[tuple[bytes, Buffer]]:
        view = memoryview(self._source.pack_range(segment.pack_id, segment.start, segment.end))
        return [(place.digest, self._decode(place, view, segment.start)) for place in segment.places]

    def _decode(self, place: BlobPlace, view: memoryview, at: int) -> Buffer:
        try:
            stored = view[place.offset - at : place.offset - at + place.stored]
            # A copy: a view would keep the whole segment in memory for as long as the blob.
            return bytes(decode_blob(place.digest, place.encoding, stored, place.raw))
        except Corrupt:
            # Bytes may be damaged on the way: what the store holds decides.
            again = self._source.pack_range(place.pack_id, place.offset, place.offset + place.stored)
            return decode_blob(place.digest, place.encoding, again, place.raw)


def _place(places: Mapping[bytes, BlobPlace], digest: bytes) -> BlobPlace:
    try:
        return places[digest]
    except KeyError:
        raise Corrupt(f"No locator says where blob {digest.hex()[:12]} lies.") from None


def _starts(lengths: Sequence[int]) -> Iterator[int]:
    at = 0
    for length in lengths:
        yield at
        at += length


def _join(directory: bytes, target: bytes) -> bytes | None:
    """Where a link in `directory` leads; None for outside the tree."""
    if target.startswith(b"/"):
        return None
    parts = directory.split(b"/") if directory else []
    for part in target.split(b"/"):
        if part == b"..":
            if not parts:
                return None
            parts.pop()
        elif part not in (b"", b"."):
            parts.append(part)
    try:
        return check_path(b"/".join(parts))
    except BadPath:
        return None
