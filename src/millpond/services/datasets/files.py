"""The bytes of one file of a commit, any part of them, every blob checked against its digest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from millpond.blobs.store import Buffer
from millpond.errors import BadRequest, Corrupt, NotFound, StoreUnavailable
from millpond.lake.chunks import decode_chunk_list
from millpond.lake.encoding import decode_blob
from millpond.lake.external import Descriptor, decode_descriptor
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import unpack_locator
from millpond.lake.store_retry import sensible
from millpond.model.dataset import BlobPlace, Commit, Dataset
from millpond.model.path import check_path, from_text, to_text
from millpond.model.tree import Content, Entry, Kind
from millpond.services.datasets import external
from millpond.services.datasets.reading import reader_of
from millpond.services.deps import Deps
from millpond.services.people import access


@dataclass(frozen=True, slots=True)
class Piece:
    """One blob of a file: where it begins in the file, and where it lies."""

    start: int
    place: BlobPlace


@dataclass(frozen=True, slots=True)
class OpenFile:
    path: str
    size: int
    digest: str
    project_id: str
    pieces: tuple[Piece, ...]
    # Of a file that lies outside the lake, and has no pieces in it.
    external: Descriptor | None = None

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def read(self, deps: Deps, start: int, end: int) -> Iterator[bytes]:
        """Bytes `start` to `end` (not included), a blob (at most 4 MiB) at a time; the first is there when it returns.

        Corrupt for what the lake has damaged or lost.
        """
        if self.external is not None:
            return external.begun(external.read_described(deps, self.project_id, self.external, start, end))
        return external.begun(self._blobs(deps, start, end))

    def _blobs(self, deps: Deps, start: int, end: int) -> Iterator[bytes]:
        keys = ProjectKeys(self.project_id)
        for piece in self.pieces:
            low, high = max(start - piece.start, 0), min(end - piece.start, piece.place.raw)
            if low < high:
                with _said_of(self.path):
                    blob = read_blob(deps, keys, piece.place)
                yield bytes(blob[low:high])


def open_file(deps: Deps, dataset: Dataset, commit: Commit, path: str) -> OpenFile:
    """NotFound for a path the commit does not have, BadRequest for one that is not a file."""
    wanted = check_path(from_text(path))
    reader = reader_of(deps, dataset, commit)
    leaf_ref = next(reader.leaves(wanted, wanted + b"\0"), None)
    leaf = reader.leaf(leaf_ref.id) if leaf_ref else None
    number = bisect_left(leaf.paths, wanted) if leaf else 0
    if leaf is None or leaf_ref is None or number >= len(leaf) or leaf.paths[number] != wanted:
        if reader.is_directory(wanted):
            raise BadRequest(f"{path!r} is a directory.")
        raise access.not_found("file", path)
    entry = leaf.entry(number)
    if entry.kind is Kind.DIRECTORY:
        raise BadRequest(f"{path!r} is a directory.")
    keys = ProjectKeys(dataset.project_id)
    with _said_of(path):
        places = locator_of(deps, keys, leaf_ref.id) if entry.content is not Content.NOTHING else {}
        if entry.kind is Kind.SYMLINK:
            target = to_text(bytes(read_blob(deps, keys, place_of(places, entry.digest))))
        elif entry.content is Content.EXTERNAL:
            descriptor = decode_descriptor(read_blob(deps, keys, place_of(places, entry.digest)))
            return OpenFile(to_text(wanted), entry.size, entry.digest.hex(), dataset.project_id, (), descriptor)
        else:
            pieces = pieces_of(deps, keys, places, entry)
            return OpenFile(to_text(wanted), entry.size, entry.digest.hex(), dataset.project_id, pieces)
    hint = "Symbolic links are not followed here: read their target, if it is in the commit."
    raise BadRequest(f"{path!r} is a symbolic link to {target!r}.", hint=hint)


def pieces_of(deps: Deps, keys: ProjectKeys, places: Mapping[bytes, BlobPlace], entry: Entry) -> tuple[Piece, ...]:
    """The blobs of a file in order; `places` is the locator of its leaf. Reads the chunk list of a large file."""
    if entry.content is Content.NOTHING:
        return ()
    if entry.content is Content.EXTERNAL:
        raise BadRequest("This file is stored outside the lake and has no blobs there.")
    if entry.content is Content.BLOB:
        return (Piece(0, place_of(places, entry.digest)),)
    chunks = decode_chunk_list(read_blob(deps, keys, place_of(places, entry.digest)))
    pieces: list[Piece] = []
    start = 0
    for digest, length in zip(chunks.digests, chunks.lengths, strict=True):
        pieces.append(Piece(start, place_of(places, digest)))
        start += length
    return tuple(pieces)


def locator_of(deps: Deps, keys: ProjectKeys, leaf_id: str) -> Mapping[bytes, BlobPlace]:
    return sensible(lambda: unpack_locator(deps.store.get(keys.locator(leaf_id))))


def place_of(places: Mapping[bytes, BlobPlace], digest: bytes) -> BlobPlace:
    try:
        return places[digest]
    except KeyError:
        raise Corrupt(f"No locator for blob {digest.hex()[:12]}.") from None


def read_blob(deps: Deps, keys: ProjectKeys, place: BlobPlace) -> memoryview:
    def read() -> Buffer:
        stored = deps.store.get_range(keys.pack(place.pack_id), place.offset, place.offset + place.stored)
        return decode_blob(place.digest, place.encoding, stored, place.raw)

    return memoryview(sensible(read))


@contextmanager
def _said_of(path: str) -> Iterator[None]:
    """What is wrong with the lake is told of the file that was asked for.

    An object that is lost or too short is damage: the file is there, and nothing is wrong with the request.
    """
    try:
        yield
    except (Corrupt, BadRequest, NotFound) as error:
        raise Corrupt(
            f"Cannot read {path!r}: {error.message}",
            hint="List all damage: mill data verify --full",
        ) from error
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"Cannot read {path!r} now: {error.message}", hint=error.hint or "Try again in a moment."
        ) from error
