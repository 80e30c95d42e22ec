"""Reading a whole commit back from the lake as a clone does, every digest checked."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.lake.chunks import decode_chunk_list
from millpond.lake.encoding import decode_blob
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import unpack_locator
from millpond.lake.pages import unpack_page
from millpond.lake.reader import TreeReader
from millpond.model.dataset import BlobPlace, Commit, Dataset
from millpond.model.tree import Content
from millpond.services.deps import Deps


def read_all(deps: Deps, dataset: Dataset, commit: Commit) -> dict[str, bytes]:
    """Files by path. Straight from the store: nothing that a server remembers helps."""
    lake = _Lake(deps, dataset.project_id)
    reader = TreeReader(lake, commit.tree)
    found: dict[str, bytes] = {}
    for ref in reader.leaves():
        leaf = reader.leaf(ref.id)
        places = unpack_locator(deps.store.get(lake.keys.locator(ref.id)))
        for entry in leaf.entries():
            content = lake.blob(places, entry.digest) if entry.content is not Content.NOTHING else b""
            if entry.content is Content.CHUNKS:
                chunks = decode_chunk_list(content)
                content = b"".join(lake.blob(places, digest) for digest in chunks.digests)
            found[entry.path.decode()] = content
    return found


class _Lake:
    def __init__(self, deps: Deps, project_id: str) -> None:
        self.store = deps.store
        self.keys = ProjectKeys(project_id)

    def page(self, page_id: str) -> bytes:
        return unpack_page(page_id, self.store.get(self.keys.page(page_id)))

    def blob(self, places: Mapping[bytes, BlobPlace], digest: bytes) -> bytes:
        place = places[digest]
        stored = self.store.get_range(self.keys.pack(place.pack_id), place.offset, place.offset + place.stored)
        return bytes(decode_blob(digest, place.encoding, stored, place.raw))
