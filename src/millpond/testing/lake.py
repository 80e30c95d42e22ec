"""Trees for property tests, and a lake in memory that pushes and fetches without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from millpond.errors import NotFound
from millpond.lake.digests import digest_of
from millpond.lake.tree import Tree, build_tree
from millpond.model.tree import Content, Entry, Kind

_AWKWARD_NAMES = [
    b"a", b"A", b"a-b", b"a.b", b"a0", b"a b", b"-rf", b"~", b"con", b"\n", b"\x01\x7f", b"\\x41", b"\xff\xfe",
    "caf\u00e9".encode(), "cafe\u0301".encode(), "\U0001f600".encode(), b"x" * 255, b"...", b".hidden",
]  # fmt: skip


def names() -> st.SearchStrategy[bytes]:
    """Names of files as file systems allow them: any bytes but NUL and `/`, not `.` or `..`."""
    part = st.binary(min_size=1, max_size=12).filter(lambda name: not {0, 0x2F} & set(name))
    return st.one_of(st.sampled_from(_AWKWARD_NAMES), part).filter(lambda name: name not in (b".", b"..", b".mill"))


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
