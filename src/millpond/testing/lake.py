"""Trees for property tests, and a lake in memory that pushes and fetches without a server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hypothesis import strategies as st

from millpond.blobs.memory import MemoryStore
from millpond.blobs.store import BlobStore, Buffer
from millpond.errors import ChangedOutside, Incomplete, NotFound
from millpond.lake.digests import digest_of
from millpond.lake.encoding import decode_blob
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import pack_locator, unpack_locator
from millpond.lake.needs import blobs_needed
from millpond.lake.packs import read_index
from millpond.lake.pages import unpack_page
from millpond.lake.reader import TreeReader
from millpond.lake.transfer import Slot
from millpond.lake.tree import Tree, build_tree
from millpond.model.dataset import BlobPlace
from millpond.model.ids import new_pack_id
from millpond.model.tree import Content, Entry, Kind

_AWKWARD_NAMES = [
    b"a", b"A", b"a-b", b"a.b", b"a0", b"a b", b"-rf", b"~", b"con", b"\n", b"\x01\x7f", b"\\x41", b"\xff\xfe",
    "caf\u00e9".encode(), "cafe\u0301".encode(), "\U0001f600".encode(), b"x" * 255, b"...", b".hidden",
]  # fmt: skip


def names() -> st.SearchStrategy[bytes]:
    """Names of files as file systems allow them: any bytes but NUL and `/`, not `.` or `..`."""
    part = st.binary(min_size=1, max_size=12).filter(lambda name: not {0, 0x2F} & set(name))
    return st.one_of(st.sampled_from(_AWKWARD_NAMES), part).filter(
        lambda name: name not in (b".", b"..") and name.lower() != b".mill"
    )


def paths() -> st.SearchStrategy[bytes]:
    return st.lists(names(), min_size=1, max_size=4).map(b"/".join)


def entries_at(path: bytes) -> st.SearchStrategy[Entry]:
    """Any entry that may stand at `path`, with a made-up digest."""
    digest = st.integers(0, 5).map(lambda number: digest_of(bytes([number])))
    files = st.sampled_from([Kind.FILE, Kind.EXECUTABLE])
    small, large = st.integers(1, 1 << 20), st.integers((1 << 20) + 1, 1 << 40)
    return st.one_of(
        st.builds(Entry, st.just(path), st.sampled_from([Kind.DIRECTORY, Kind.FILE, Kind.EXECUTABLE])),
        st.builds(Entry, st.just(path), st.just(Kind.SYMLINK), st.integers(1, 100), st.just(Content.BLOB), digest),
        st.builds(Entry, st.just(path), files, small, st.just(Content.BLOB), digest),
        st.builds(Entry, st.just(path), files, large, st.just(Content.CHUNKS), digest),
        st.builds(Entry, st.just(path), files, large, st.just(Content.EXTERNAL), digest),
    )


def trees(most: int = 40) -> st.SearchStrategy[list[Entry]]:
    """Sorted entries that may stand together in one tree."""

    def with_entries(chosen: Iterable[bytes]) -> st.SearchStrategy[list[Entry]]:
        return st.tuples(*(entries_at(path) for path in without_conflicts(chosen))).map(list)

    return st.sets(paths(), max_size=most).flatmap(with_entries)


def without_conflicts(chosen: Iterable[bytes]) -> list[bytes]:
    """`chosen` sorted, without those that would be a directory of another."""
    everything = sorted(set(chosen))
    parents = {path[:at] for path in everything for at in range(len(path)) if path[at : at + 1] == b"/"}
    return [path for path in everything if path not in parents]


def many_files(count: int, name: Callable[[int], str] = "dir{0:03d}/file-{0:06d}".format) -> list[Entry]:
    """`count` small files with made-up digests, for trees of several pages."""
    found = (
        Entry(name(n).encode(), Kind.FILE, n % 1000 + 1, Content.BLOB, digest_of(str(n).encode())) for n in range(count)
    )
    return sorted(found, key=lambda entry: entry.path)


@dataclass
class MemoryPages:
    """A PageSource and a sink; counts what is read."""

    pages: dict[str, bytes] = field(default_factory=dict)
    reads: list[str] = field(default_factory=list)

    def page(self, page_id: str) -> bytes:
        self.reads.append(page_id)
        try:
            return self.pages[page_id]
        except KeyError:
            raise NotFound(f"There is no page {page_id[:12]}.") from None

    def build(self, entries: Iterable[Entry]) -> Tree:
        return build_tree(entries, self.pages.__setitem__)


class DirectLake:
    """One project's lake on a blob store, without a server: an Uploader and a Downloader at once.

    `accept` stands for a commit. Counters tell what was moved.
    """

    def __init__(self, store: BlobStore | None = None, project_id: str = "p1") -> None:
        self.store = store or MemoryStore()
        self.keys = ProjectKeys(project_id)
        self.places: dict[bytes, BlobPlace] = {}
        self.accepted: set[str] = set()
        self.asked: list[bytes] = []
        self.put_keys: list[str] = []
        self.ranges: list[tuple[str, int, int]] = []
        self.outside: dict[bytes, bytes] = {}

    def missing(self, digests: Sequence[bytes]) -> Sequence[bool]:
        self.asked.extend(digests)
        return [digest not in self.places for digest in digests]

    def pack_slots(self, count: int, crc32: Sequence[str] = (), sizes: Sequence[int] = ()) -> list[Slot]:
        ids = [new_pack_id() for _ in range(count)]
        return [Slot(pack_id, self.keys.pack(pack_id)) for pack_id in ids]

    def put(self, slot: Slot, data: Buffer) -> None:
        self.put_keys.append(slot.url)
        self.store.put(slot.url, data)

    def packs_written(self, packs: Sequence[tuple[str, int]]) -> None:
        for pack_id, size in packs:
            key = self.keys.pack(pack_id)
            read = partial(self.store.get_range, key)
            self.places.update({place.digest: place for place in read_index(pack_id, size, read)})

    def page_slots(self, pages: Sequence[str]) -> list[Slot]:
        return [Slot(page_id, self.keys.page(page_id)) for page_id in pages if page_id not in self.accepted]

    def put_pages(self, pages: Mapping[str, bytes]) -> None:
        for page_id, frame in pages.items():
            self.put(Slot(page_id, self.keys.page(page_id)), frame)

    def accept(self, root: str) -> Tree:
        """Write the locators of the leaves and count the pages as present from now on. Incomplete if blobs lack.

        A server checks much more before it accepts a tree.
        """
        reader = TreeReader(self, root)
        leaves = list(reader.leaves())
        for ref in leaves:
            needed = blobs_needed(reader.leaf(ref.id), self.read_blobs)
            if lost := [digest.hex() for digest in needed if digest not in self.places]:
                raise Incomplete(f"{len(lost)} blobs are not in the lake.", blobs=lost)
            locator = pack_locator(self.places[digest] for digest in needed)
            self.store.put(self.keys.locator(ref.id), locator)
            self.accepted.add(ref.id)
        self.accepted.add(root)
        whole = reader.root_ref()
        return Tree(root, whole.entries, sum(reader.leaf(ref.id).files for ref in leaves), whole.size)

    def read_blobs(self, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        found = self.find_places(digests)
        return {
            digest: bytes(decode_blob(digest, place.encoding, self._stored(place), place.raw))
            for digest, place in found.items()
        }

    def find_places(self, digests: Sequence[bytes]) -> dict[bytes, BlobPlace]:
        return {digest: self.places[digest] for digest in digests if digest in self.places}

    def page(self, page_id: str) -> bytes:
        return unpack_page(page_id, self.store.get(self.keys.page(page_id)))

    def locator(self, page_id: str) -> Mapping[bytes, BlobPlace]:
        return unpack_locator(self.store.get(self.keys.locator(page_id)))

    def pack_url(self, pack_id: str) -> None:
        return None

    def note_read(self, pack_id: str, url: str | None, size: int) -> None:
        return None

    def given(self) -> Mapping[str, int]:
        return {}

    def distrust(self, pack_id: str) -> bool:
        return False

    def pack_range(self, pack_id: str, start: int, end: int) -> bytes:
        self.ranges.append((pack_id, start, end))
        return self.store.get_range(self.keys.pack(pack_id), start, end)

    def external(self, entry: Entry, start: int, end: int) -> Iterator[bytes]:
        """From `outside`, by the digest of the descriptor; ChangedOutside for what is not there."""
        if entry.digest not in self.outside:
            raise ChangedOutside(f"{entry.path!r} was changed.")
        yield self.outside[entry.digest][start:end]

    def expect_leaves(self, page_ids: Iterable[str]) -> None:
        return None

    def expect_external(self, entries: Iterable[Entry]) -> None:
        return None

    def _stored(self, place: BlobPlace) -> bytes:
        return self.store.get_range(self.keys.pack(place.pack_id), place.offset, place.offset + place.stored)


@dataclass(frozen=True, slots=True)
class Thing:
    """A file, directory or link as it lies on disk: `content` is None for a directory."""

    path: bytes
    content: bytes | None = None
    executable: bool = False
    link: bool = False


def write_things(root: Path, things: Iterable[Thing]) -> None:
    """Make the things, and give the files a time long past: what was just written is not trusted by scans."""
    base = os.fsencode(root)
    for thing in things:
        full = base + b"/" + thing.path
        os.makedirs(os.path.dirname(full) if thing.content is not None else full, exist_ok=True)  # noqa: PTH103, PTH120 - bytes
        if thing.content is None:
            continue
        if thing.link:
            os.symlink(thing.content, full)  # noqa: PTH211 - bytes
            continue
        with open(full, "wb") as file:
            file.write(thing.content)
        os.chmod(full, 0o755 if thing.executable else 0o644)  # noqa: PTH101 - bytes
        os.utime(full, (1_500_000_000, 1_500_000_000))


def read_things(root: Path) -> list[Thing]:
    """Everything below `root`, sorted by path; only empty directories are named."""
    found: list[Thing] = []
    for directory, below, files in os.walk(os.fsencode(root)):
        prefix = directory[len(os.fsencode(root)) :].lstrip(b"/")
        for name in [*files, *below]:
            path = prefix + b"/" + name if prefix else name
            full = directory + b"/" + name
            if os.path.islink(full):  # noqa: PTH114 - bytes
                found.append(Thing(path, os.readlink(full), link=True))  # noqa: PTH115 - bytes
            elif name in files:
                with open(full, "rb") as file:
                    found.append(Thing(path, file.read(), bool(os.stat(full).st_mode & 0o100)))  # noqa: PTH116 - bytes
            elif not os.listdir(full):
                found.append(Thing(path))
    return sorted(found, key=lambda thing: thing.path)


def things(most: int = 12) -> st.SearchStrategy[list[Thing]]:
    """Directories as file systems allow them, with links that lead nowhere and outside."""
    contents = st.one_of(st.binary(max_size=50), st.just(b"text " * 2000))

    def thing_at(path: bytes) -> st.SearchStrategy[Thing]:
        targets = st.sampled_from([b"../../outside", b"/etc/passwd", b"nowhere", b"\xff\n"])
        return st.one_of(
            st.just(Thing(path)),
            st.builds(Thing, st.just(path), contents, st.booleans()),
            st.builds(lambda target: Thing(path, target, link=True), targets),
        )

    def all_at(chosen: Iterable[bytes]) -> st.SearchStrategy[list[Thing]]:
        return st.tuples(*(thing_at(path) for path in without_conflicts(chosen))).map(list)

    return st.sets(paths(), max_size=most).flatmap(all_at)
