"""Pages and packs of a project as the lake holds them, into the database; locators that are lost are made anew."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy.exc import IntegrityError

from millpond.db import blobs, promised_pages, uploads
from millpond.db.batches import batches
from millpond.db.blobs import PageRow
from millpond.errors import BadFormat, BadRequest, Corrupt, Incomplete, NotFound
from millpond.lake.encoding import decode_blob
from millpond.lake.external import decode_descriptor
from millpond.lake.folders import encode_folders, folders_in
from millpond.lake.keys import ProjectKeys, id_in
from millpond.lake.locators import pack_locator, unpack_locator
from millpond.lake.needs import blobs_needed
from millpond.lake.packs import read_index
from millpond.lake.pages import LeafPage, decode_page
from millpond.model.dataset import BlobPlace
from millpond.model.ids import is_digest
from millpond.model.path import to_text
from millpond.model.quantity import format_count
from millpond.model.tree import Content
from millpond.services.commits.checks.blobs import read_blobs
from millpond.services.commits.checks.leaf import row_of
from millpond.services.commits.checks.tree import index_row
from millpond.services.commits.pages import ProjectPages
from millpond.services.deps import Deps
from millpond.services.lake.reindex_history import Say

# Whose packs these are until they have been checked: nobody's in particular, so only this may build on them.
OWNER = "reindex"
_DAMAGE = (Corrupt, BadFormat, BadRequest, NotFound, Incomplete)
_PACK = re.compile("[0-9a-f]{32}")


@dataclass
class PageIndexer:
    """Adds the pages of one project, each once. What is in the database already is not read again."""

    deps: Deps
    project_id: str
    say: Say
    pages: int = 0
    packs: int = 0
    damaged: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.keys = ProjectKeys(self.project_id)
        self.source = ProjectPages(self.deps.store, self.deps.pages, self.project_id)

    def add_packs(self) -> None:
        """Every pack by its own index. Those that cannot be read are said, and are not there."""
        for info in self.deps.store.list(self.keys.packs):
            pack_id = id_in(self.keys.packs, info.key)
            if pack_id is None or not _PACK.fullmatch(pack_id):
                self._foreign(info.key)
                continue
            with self.deps.db.read() as tx:
                if uploads.packs(tx, self.project_id, [pack_id]):
                    continue
            try:
                places = read_index(pack_id, info.size, partial(self.deps.store.get_range, info.key))
            except _DAMAGE as error:
                self.say(f"pack {pack_id} cannot be used: {error.message}")
                continue
            try:
                with self.deps.db.write() as tx:
                    uploads.insert_found(
                        tx, self.project_id, pack_id, OWNER, info.size, len(places), self.deps.clock.now()
                    )
                    blobs.insert_places(tx, self.project_id, places)
            except IntegrityError:
                self.say(f"pack {pack_id} is that of another project, copied here; it is not used")
                continue
            self.packs += 1

    def add_tree(self, root: str) -> bool:
        """Whether all pages of the tree are there and indexed."""
        return self._add(root) is not None

    def add_leftovers(self) -> None:
        """Pages that no commit has, as if they had just been promised: the next collection sees to them."""
        for batch in batches(self.deps.store.list(self.keys.pages), 1000):
            ids = [page_id for info in batch if (page_id := self._page_id(info.key)) is not None]
            with self.deps.db.write() as tx:
                known = blobs.pages(tx, self.project_id, ids)
                left = [page_id for page_id in ids if page_id not in known]
                promised_pages.promise(tx, self.project_id, left, self.deps.clock.now())

    def _page_id(self, key: str) -> str | None:
        page_id = id_in(self.keys.pages, key)
        if page_id is None or not is_digest(page_id):
            self._foreign(key)
            return None
        return page_id

    def _foreign(self, key: str) -> None:
        self.say(f"{key} is not part of the lake format and stays as it is")

    def _add(self, page_id: str) -> PageRow | None:
        if page_id in self.damaged:
            return None
        with self.deps.db.read() as tx:
            known = blobs.pages(tx, self.project_id, [page_id])
        row = known.get(page_id) or self._add_new(page_id)
        if row is None:
            self.damaged.add(page_id)
        return row

    def _add_new(self, page_id: str) -> PageRow | None:
        try:
            data = self.source.page(page_id)
            page = decode_page(data)
        except _DAMAGE as error:
            self.say(f"page {page_id} cannot be used: {error.message}")
            return None
        if isinstance(page, LeafPage):
            packs = self._packs_of(page_id, page)
            return self._insert(row_of(page_id, page, self._connections(page)), packs, encode_folders(folders_in(data)))
        rows = [row for child in page.ids if (row := self._add(child)) is not None]
        return self._insert(index_row(page_id, page.level, rows), ()) if len(rows) == len(page) else None

    def _insert(self, row: PageRow, packs: Sequence[str], folders: bytes | None = None) -> PageRow:
        with self.deps.db.write() as tx:
            blobs.insert_pages(tx, self.project_id, [row], {row.id: folders} if folders else {})
            blobs.add_page_packs(tx, self.project_id, {row.id: packs})
        self.pages += 1
        return row

    def _packs_of(self, page_id: str, leaf: LeafPage) -> Sequence[str]:
        """The packs its locator names; one that is lost, damaged or names packs that are gone is made anew."""
        try:
            places: Mapping[bytes, BlobPlace] = unpack_locator(self.deps.store.get(self.keys.locator(page_id)))
        except _DAMAGE:
            places = {}
        named = {place.pack_id for place in places.values()}
        with self.deps.db.read() as tx:
            there = {pack.id for pack in uploads.packs(tx, self.project_id, named)}
        if there == named and self._needed(leaf, places) <= places.keys():
            return sorted(named)
        return self._locate(page_id, leaf)

    def _connections(self, leaf: LeafPage) -> frozenset[str]:
        """The connections that external entries of the leaf lie behind."""
        numbers = [n for n, content in enumerate(leaf.contents) if content == Content.EXTERNAL]
        with self.deps.db.read() as tx:
            places = blobs.places(tx, self.project_id, {leaf.digest(n) for n in numbers}, owner=OWNER)
        try:
            found = read_blobs(self.deps, self.project_id, places.values())
            return frozenset(decode_descriptor(data).connection for _, data in found)
        except _DAMAGE:
            return frozenset()

    def _locate(self, page_id: str, leaf: LeafPage) -> Sequence[str]:
        with self.deps.db.read() as tx:
            first = blobs.places(tx, self.project_id, set(_digests(leaf)), owner=OWNER)
        needed = self._needed(leaf, first)
        with self.deps.db.read() as tx:
            places = blobs.places(tx, self.project_id, needed, owner=OWNER)
        if lost := needed - places.keys():
            paths = [to_text(path) for n, path in enumerate(leaf.paths) if leaf.digest(n) in lost]
            example = f", {paths[0]!r} for example" if paths else ""
            self.say(
                f"page {page_id}: {format_count(len(lost), 'blob')} missing from all packs; "
                f"{format_count(len(paths), 'file')} cannot be read{example}"
            )
        self.deps.store.put(self.keys.locator(page_id), pack_locator(places.values()))
        return sorted({place.pack_id for place in places.values()})

    def _needed(self, leaf: LeafPage, places: Mapping[bytes, BlobPlace]) -> set[bytes]:
        """The blobs of a leaf, chunks included where its chunk lists can be read."""

        def read(digests: Sequence[bytes]) -> dict[bytes, bytes]:
            return {digest: self._blob(places[digest]) for digest in digests if digest in places}

        try:
            return set(blobs_needed(leaf, read))
        except _DAMAGE:
            return set(_digests(leaf))

    def _blob(self, place: BlobPlace) -> bytes:
        stored = self.deps.store.get_range(self.keys.pack(place.pack_id), place.offset, place.offset + place.stored)
        return bytes(decode_blob(place.digest, place.encoding, stored, place.raw))


def _digests(leaf: LeafPage) -> list[bytes]:
    return [leaf.digest(number) for number in range(len(leaf)) if leaf.contents[number]]
