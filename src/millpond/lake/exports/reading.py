"""Reading an export: a small lake in one file, every byte of which was checked when it was opened."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType

from millpond.errors import BadFormat, BadRequest, Corrupt, NotFound
from millpond.lake.commits import decode_commit
from millpond.lake.exports.manifest import ExportedCommit, Manifest, decode_manifest
from millpond.lake.exports.parts import DOCUMENT_MOST, Part, PartKind, check_parts
from millpond.lake.locators import unpack_locator
from millpond.lake.packs import PACK_MOST
from millpond.lake.pages import IndexPage, decode_page, is_leaf, unpack_page
from millpond.model.dataset import BlobPlace
from millpond.model.ids import is_digest
from millpond.model.tree import Entry

_PACK_ID = 16


class ExportFile:
    """A Downloader for every commit of the file. Used from several threads.

    Opening reads all of it: BadFormat if it is no export or of a newer version, Corrupt if it is cut off or altered.
    `told` hears how many bytes were checked.
    """

    def __init__(self, path: Path, told: Callable[[int], None] = lambda done: None) -> None:
        try:
            self._file = open(path, "rb")  # noqa: SIM115 - closed with this object
        except FileNotFoundError as error:
            hint = "To import objects of a bucket, say which: mill data import DATASET s3://bucket/prefix"
            raise NotFound(f"The file {path} does not exist.", hint=hint) from error
        except OSError as error:
            raise BadRequest(f"Cannot read {path}: {error.strerror}.") from error
        self.path = path
        self._turn = threading.Lock()
        try:
            checked = check_parts(self._file, path.name, told)
            self.digest = checked.digest
            self._parts: defaultdict[PartKind, dict[bytes, list[Part]]] = defaultdict(dict)
            for part in checked.parts:
                self._parts[part.kind].setdefault(part.name, []).append(part)
            self.manifest: Manifest = decode_manifest(self._document(PartKind.MANIFEST))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> ExportFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def pack_ids(self) -> list[str]:
        return [name[-_PACK_ID:].hex() for name in self._parts[PartKind.PACK]]

    @property
    def pack_bytes(self) -> int:
        """What all packs take in the file."""
        return sum(part.length for parts in self._parts[PartKind.PACK].values() for part in parts)

    def pack(self, pack_id: str) -> bytes:
        return self._read(self._part(PartKind.PACK, bytes.fromhex(pack_id)), PACK_MOST)

    def commit_document(self, commit: ExportedCommit) -> bytes:
        """The commit as it lies in its lake: it has the tree that the manifest says, and the id of its bytes."""
        part = self._part(PartKind.COMMIT, bytes.fromhex(commit.id))
        document = self._read(part, DOCUMENT_MOST)
        found = decode_commit(document, commit.id)
        if (found.tree, found.dataset_id) != (commit.tree, commit.dataset_id):
            raise BadFormat(f"The manifest of {self.path.name} names another tree than commit {commit.id[:12]} has.")
        return document

    def ancestors(self, commit_id: str) -> set[str]:
        """All commits before this one, as far as the file tells."""
        try:
            parents = {str(one): list(map(str, above)) for one, above in json.loads(self._document(PartKind.HISTORY))}
        except (ValueError, TypeError, RecursionError) as error:
            raise BadFormat(f"The history in {self.path.name} does not have the right shape.") from error
        found: set[str] = set()
        waiting = list(parents.get(commit_id, ()))
        while waiting:
            one = waiting.pop()
            if one not in found and is_digest(one):
                found.add(one)
                waiting += parents.get(one, ())
        return found

    def page_ids(self, root: str) -> Iterator[str]:
        """The pages of a tree that the file holds, from the root down. Those that it lacks are not opened."""
        waiting, seen = [root], {root}
        while waiting:
            page_id = waiting.pop()
            if bytes.fromhex(page_id) not in self._parts[PartKind.PAGE]:
                continue
            yield page_id
            data = self.page(page_id)
            if not is_leaf(data) and isinstance(page := decode_page(data), IndexPage):
                new = [child for child in page.ids if child not in seen]
                seen.update(new)
                waiting += new

    def page_frame(self, page_id: str) -> bytes:
        """A page as it is stored, checked against its id."""
        frame = self._read(self._part(PartKind.PAGE, bytes.fromhex(page_id)), DOCUMENT_MOST)
        unpack_page(page_id, frame)
        return frame

    def page(self, page_id: str) -> bytes:
        return unpack_page(page_id, self._read(self._part(PartKind.PAGE, bytes.fromhex(page_id)), DOCUMENT_MOST))

    def locator(self, page_id: str) -> Mapping[bytes, BlobPlace]:
        """Where the blobs of a leaf lie in this file: of a leaf whose other blobs the base has, only some."""
        places: dict[bytes, BlobPlace] = {}
        for part in self._parts[PartKind.LOCATOR].get(bytes.fromhex(page_id), ()):
            places.update(unpack_locator(self._read(part, DOCUMENT_MOST)))
        return places

    def note_read(self, pack_id: str, url: str | None, size: int) -> None:
        return None

    def given(self) -> Mapping[str, int]:
        return {}

    def distrust(self, pack_id: str) -> bool:
        return False

    def pack_range(self, pack_id: str, start: int, end: int) -> bytes:
        part = self._part(PartKind.PACK, bytes.fromhex(pack_id))
        if not 0 <= start <= end <= part.length:
            raise Corrupt(f"A locator of {self.path.name} points outside its pack.")
        return self._bytes(part.start + start, end - start)

    def pack_url(self, pack_id: str) -> None:
        return None

    def external(self, entry: Entry, start: int, end: int) -> Iterator[bytes]:
        raise BadFormat("An export names content that is not in it.")

    def expect_leaves(self, page_ids: Iterable[str]) -> None:
        """Nothing is asked for ahead."""

    def expect_external(self, entries: Iterable[Entry]) -> None:
        """Nothing is asked for ahead."""

    def _document(self, kind: PartKind) -> bytes:
        found = [part for parts in self._parts[kind].values() for part in parts]
        if len(found) != 1:
            raise BadFormat(f"{self.path.name} has {len(found)} parts of the kind {kind.name.lower()}, not one.")
        return self._read(found[0], DOCUMENT_MOST)

    def _part(self, kind: PartKind, name: bytes) -> Part:
        found = self._parts[kind].get(name.rjust(32, b"\0"))
        if not found:
            raise NotFound(f"{self.path.name} does not hold {kind.name.lower()} {name.hex()[:12]}.")
        return found[0]

    def _read(self, part: Part, most: int) -> bytes:
        if part.length > most:
            raise BadFormat(f"{self.path.name} holds a {part.kind.name.lower()} of {part.length:,} bytes.")
        return self._bytes(part.start, part.length)

    def _bytes(self, at: int, length: int) -> bytes:
        with self._turn:
            self._file.seek(at)
            return self._file.read(length)
