"""Pages of a tree: leaves that hold entries, index pages that hold pages. Encoding, strict decoding, ids.

Decoding accepts exactly the bytes that encoding makes of the same values, so a page has one id; and only entries
that can stand in a tree, so whoever holds a decoded page may use its paths without checking them again.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import lt

from millpond.blobs.store import Buffer
from millpond.errors import BadFormat, Corrupt
from millpond.lake import frames
from millpond.lake.chunks import WHOLE_MOST
from millpond.lake.digests import DIGEST_SIZE, check_id
from millpond.model.path import MAX_PART, MAX_PATH
from millpond.model.tree import NO_DIGEST, Content, Entry, Kind

LEAF_MOST_ENTRIES = 4096
LEAF_MOST_PATH_BYTES = 1 << 20
INDEX_MOST_CHILDREN = 2048
LEVEL_MOST = 7
LINK_MOST = 4096
# One more than is written: the first trees might have it, and stay readable.
_PATH_READ = MAX_PATH + 1
# Above any page that the limits allow: a full index page of the longest paths.
PAGE_MOST = 16 << 20
# What a tree may hold is less: so that it can be counted by databases, which have 63 bits, also in whole blocks.
TREE_BYTES = 1 << 62

_HEAD = struct.Struct("<4sB3xI")
_MAGIC = b"MLP1"
# One part: not `.`, `..` or `.mill` (which a working copy keeps for itself).
_PART = rb"(?!(?:\.{1,2}|\.[mM][iI][lL][lL])(?:/|\Z))[^/\0]{1,%d}" % MAX_PART
_PATH = re.compile(rb"%b(?:/%b)*" % (_PART, _PART))
# Looking a member up by its number is quicker than calling its class.
_KINDS = {kind.value: kind for kind in Kind}
_CONTENTS = {content.value: content for content in Content}
_CONTENT_OF_KIND = {
    (Kind.DIRECTORY, Content.NOTHING),
    (Kind.SYMLINK, Content.BLOB),
    *((kind, content) for kind in (Kind.FILE, Kind.EXECUTABLE) for content in Content),
}

# Path, kind, content, size and digest of an entry.
Row = tuple[bytes, int, int, int, bytes]


@dataclass(frozen=True, slots=True)
class PageRef:
    """One page as its parent sees it."""

    id: str
    level: int
    entries: int
    size: int
    first: bytes


@dataclass(frozen=True, slots=True)
class LeafPage:
    """Entries in columns; `digests` are 32 bytes each, back to back."""

    kinds: bytes
    contents: bytes
    sizes: Sequence[int]
    digests: bytes
    paths: Sequence[bytes]

    level = 0

    def __len__(self) -> int:
        return len(self.paths)

    def digest(self, number: int) -> bytes:
        return self.digests[number * DIGEST_SIZE : (number + 1) * DIGEST_SIZE]

    def entry(self, number: int) -> Entry:
        return Entry(
            path=self.paths[number],
            kind=_KINDS[self.kinds[number]],
            size=self.sizes[number],
            content=_CONTENTS[self.contents[number]],
            digest=self.digest(number),
        )

    def entries(self, start: int = 0, end: int | None = None) -> Iterator[Entry]:
        return map(entry_of, islice(self.rows(), start, end))

    def rows(self) -> Iterator[Row]:
        """The entries as plain tuples, which are compared by the thousand in no time."""
        digests = (self.digests[at : at + DIGEST_SIZE] for at in range(0, len(self.digests), DIGEST_SIZE))
        return zip(self.paths, self.kinds, self.contents, self.sizes, digests, strict=True)

    @property
    def files(self) -> int:
        """Entries that are not directories."""
        return len(self) - self.kinds.count(Kind.DIRECTORY)

    def ref(self, page_id: str) -> PageRef:
        return PageRef(page_id, 0, len(self), sum(self.sizes), self.paths[0] if self.paths else b"")


@dataclass(frozen=True, slots=True)
class LeafColumns:
    """Those columns of a leaf that tell what lies where, as they stand in it: `ends` are of the paths."""

    sizes: Sequence[int]
    ends: Sequence[int]
    path_bytes: bytes


@dataclass(frozen=True, slots=True)
class IndexPage:
    """Children in columns: entries and bytes below each, and the first path."""

    level: int
    ids: Sequence[str]
    entries: Sequence[int]
    sizes: Sequence[int]
    paths: Sequence[bytes]

    def __len__(self) -> int:
        return len(self.paths)

    def child(self, number: int) -> PageRef:
        return PageRef(self.ids[number], self.level - 1, self.entries[number], self.sizes[number], self.paths[number])

    def children(self) -> list[PageRef]:
        return [self.child(number) for number in range(len(self))]

    def ref(self, page_id: str) -> PageRef:
        return PageRef(page_id, self.level, sum(self.entries), sum(self.sizes), self.paths[0])


Page = LeafPage | IndexPage


def entry_of(row: Row) -> Entry:
    path, kind, content, size, digest = row
    return Entry(path, _KINDS[kind], size, _CONTENTS[content], digest)


def row_of(entry: Entry) -> Row:
    return entry.path, entry.kind, entry.content, entry.size, entry.digest


def encode_leaf(entries: Sequence[Entry]) -> bytes:
    """The canonical bytes of a leaf; BadFormat if these entries cannot stand together in a tree."""
    return encode_rows([row_of(entry) for entry in entries])


def encode_rows(rows: Sequence[Row]) -> bytes:
    """The same of rows."""
    paths, kinds, contents, sizes, digests = zip(*rows, strict=True) if rows else [()] * 5
    page = LeafPage(bytes(kinds), bytes(contents), sizes, b"".join(digests), paths)
    _check_leaf(page)
    head = _HEAD.pack(_MAGIC, 0, len(page))
    sizes_packed = struct.pack(f"<{len(page)}Q", *page.sizes)
    return b"".join((head, page.kinds, page.contents, sizes_packed, page.digests, *_encode_paths(page.paths)))


def encode_index(level: int, children: Sequence[PageRef]) -> bytes:
    """The canonical bytes of an index page over pages of the level below."""
    page = IndexPage(
        level=level,
        ids=[child.id for child in children],
        entries=[child.entries for child in children],
        sizes=[child.size for child in children],
        paths=[child.first for child in children],
    )
    _check_index(page)
    numbers = f"<{len(page)}Q"
    return b"".join(
        (
            _HEAD.pack(_MAGIC, level, len(page)),
            bytes.fromhex("".join(page.ids)),
            struct.pack(numbers, *page.entries),
            struct.pack(numbers, *page.sizes),
            *_encode_paths(page.paths),
        )
    )


def decode_page(data: Buffer) -> Page:
    """BadFormat unless `data` is the canonical encoding of a page whose entries may stand in a tree."""
    view = bytes(data)
    if not _HEAD.size <= len(view) <= PAGE_MOST:
        raise BadFormat(f"{len(view)} bytes cannot be a page.")
    magic, level, count = _HEAD.unpack_from(view)
    if magic != _MAGIC or view[5:8] != b"\0\0\0" or level > LEVEL_MOST:
        raise BadFormat("These bytes do not begin like a page.")
    return _decode_index(view, level, count) if level else _decode_leaf(view, count)


def is_leaf(data: bytes) -> bool:
    """A glance at what kind of page this says it is: decoding a leaf takes a while."""
    return data[: len(_MAGIC) + 1] == _MAGIC + b"\0"


def leaf_columns(data: bytes) -> LeafColumns:
    """A glance at a leaf that was checked before: it is not checked again. BadFormat for another page."""
    magic, level, count = _HEAD.unpack_from(data)
    if magic != _MAGIC or level:
        raise BadFormat("An index page stands where a leaf should be.")
    ends_at = _HEAD.size + (10 + DIGEST_SIZE) * count
    return LeafColumns(
        sizes=struct.unpack_from(f"<{count}Q", data, _HEAD.size + 2 * count),
        ends=struct.unpack_from(f"<{count}I", data, ends_at),
        path_bytes=data[ends_at + 4 * count :],
    )


def pack_page(data: Buffer) -> bytes:
    """The object that is stored: one zstd frame."""
    return frames.compress(data)


def unpack_page(page_id: str, frame: Buffer) -> bytes:
    """The canonical bytes of a stored page; Corrupt unless they are those that `page_id` names."""
    try:
        data = frames.decompress(frame, PAGE_MOST)
    except BadFormat as error:
        raise Corrupt(f"Page {page_id[:12]} is damaged: {error.message}") from error
    check_id(page_id, data, "page")
    return data


def _decode_leaf(view: bytes, count: int) -> LeafPage:
    at = _HEAD.size
    sizes_at, digests_at, paths_at = at + 2 * count, at + 10 * count, at + (10 + DIGEST_SIZE) * count
    paths = _decode_paths(view, paths_at, count)
    page = LeafPage(
        kinds=view[at : at + count],
        contents=view[at + count : sizes_at],
        sizes=struct.unpack_from(f"<{count}Q", view, sizes_at),
        digests=view[digests_at:paths_at],
        paths=paths,
    )
    _check_leaf(page)
    return page


def _decode_index(view: bytes, level: int, count: int) -> IndexPage:
    at = _HEAD.size
    entries_at = at + DIGEST_SIZE * count
    paths = _decode_paths(view, entries_at + 16 * count, count)
    ids = view[at:entries_at].hex()
    page = IndexPage(
        level=level,
        ids=[ids[start : start + 2 * DIGEST_SIZE] for start in range(0, len(ids), 2 * DIGEST_SIZE)],
        entries=struct.unpack_from(f"<{count}Q", view, entries_at),
        sizes=struct.unpack_from(f"<{count}Q", view, entries_at + 8 * count),
        paths=paths,
    )
    _check_index(page)
    return page


def _encode_paths(paths: Sequence[bytes]) -> tuple[bytes, bytes]:
    ends: list[int] = []
    end = 0
    for path in paths:
        end += len(path)
        ends.append(end)
    return struct.pack(f"<{len(ends)}I", *ends), b"".join(paths)


def _decode_paths(view: bytes, at: int, count: int) -> list[bytes]:
    """The paths behind their ends, which fill the page exactly to its end."""
    start = at + 4 * count
    if start > len(view):
        raise BadFormat("A page is shorter than it says.")
    ends = struct.unpack_from(f"<{count}I", view, at)
    if (ends[-1] if ends else 0) != len(view) - start:
        raise BadFormat("A page does not end with its paths.")
    joined = view[start:]
    return [joined[low:high] for low, high in pairwise((0, *ends))]


def _check_leaf(page: LeafPage) -> None:
    paths = page.paths
    if len(paths) > LEAF_MOST_ENTRIES or (paths and sum(map(len, paths)) - len(paths[-1]) >= LEAF_MOST_PATH_BYTES):
        raise BadFormat("A leaf page holds more than it may.")
    if sum(page.sizes) >= TREE_BYTES:
        raise BadFormat("A page holds more bytes than can be counted.")
    _check_paths(paths)
    _check_no_path_is_a_directory_of_another(paths)
    pairs = set(zip(page.kinds, page.contents, strict=True))
    if not pairs <= _CONTENT_OF_KIND:
        raise BadFormat("A page holds an entry of an unknown kind, or content that does not belong to its kind.")
    for pair in pairs:
        entries = zip(page.kinds, page.contents, page.sizes, strict=True)
        sizes = page.sizes if len(pairs) == 1 else [size for kind, content, size in entries if (kind, content) == pair]
        for size in (min(sizes), max(sizes)):  # what agrees is one range of sizes
            if not _size_agrees(*pair, size):
                raise BadFormat(f"A page holds an entry whose size {size} does not agree with its content.")
    if Content.NOTHING in page.contents:
        nothing = (number for number, content in enumerate(page.contents) if content == Content.NOTHING)
        if any(page.digest(number) != NO_DIGEST for number in nothing):
            raise BadFormat("A page holds an entry without content but with a digest.")
    if len(page.digests) != DIGEST_SIZE * len(paths):
        raise BadFormat("A page holds a digest of the wrong length.")


def _size_agrees(kind: int, content: int, size: int) -> bool:
    if kind == Kind.SYMLINK:
        return 0 < size <= LINK_MOST
    if content == Content.BLOB:
        return 0 < size <= WHOLE_MOST
    if content == Content.CHUNKS:
        return WHOLE_MOST < size < 1 << 63
    return size == 0 if content == Content.NOTHING else 0 <= size < 1 << 63


def _check_index(page: IndexPage) -> None:
    if not 1 <= len(page) <= INDEX_MOST_CHILDREN or not 1 <= page.level <= LEVEL_MOST:
        raise BadFormat("An index page has too few or too many children or levels.")
    _check_paths(page.paths)
    if min(page.entries) < 1 or sum(page.entries) >= TREE_BYTES or sum(page.sizes) >= TREE_BYTES:
        raise BadFormat("An index page counts wrongly.")


def _check_paths(paths: Sequence[bytes]) -> None:
    if not all(map(lt, paths, islice(paths, 1, None))):
        raise BadFormat("The paths of a page are not sorted, or one stands there twice.")
    match = _PATH.fullmatch
    if not all(map(match, paths)) or max(map(len, paths), default=0) > _PATH_READ:
        raise BadFormat("A page holds a path that may not stand in a tree.")


def _check_no_path_is_a_directory_of_another(paths: Sequence[bytes]) -> None:
    """Between `a` and `a/b` others may stand (`a-b`), so neighbours alone do not tell."""
    entries = set(paths)
    seen: set[bytes] = set()
    for path in paths:
        parent = path.rpartition(b"/")[0]
        while parent and parent not in seen:
            if parent in entries:
                raise BadFormat("A page holds an entry that is a directory of another.")
            seen.add(parent)
            parent = parent.rpartition(b"/")[0]
