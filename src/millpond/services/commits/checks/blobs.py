"""Reading small blobs of a project, chunk lists and descriptors: those that lie near each other are read together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millpond.errors import Corrupt
from millpond.lake.encoding import decode_blob
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import BlobPlace
from millpond.services.deps import Deps

# A chunk list of a thousand chunks is read with its neighbours if they lie this near.
_NEAR = 256 << 10
_MOST_READ = 8 << 20


def read_blobs(deps: Deps, project_id: str, places: Iterable[BlobPlace]) -> Iterator[tuple[bytes, bytes]]:
    """The digest and content of each, one after the other. Corrupt for what is not what its digest says."""
    keys = ProjectKeys(project_id)
    for run in _runs(sorted(places, key=lambda place: (place.pack_id, place.offset))):
        start, end = run[0].offset, run[-1].offset + run[-1].stored
        data = memoryview(deps.store.get_range(keys.pack(run[0].pack_id), start, end))
        for place in run:
            stored = data[place.offset - start : place.offset - start + place.stored]
            try:
                blob = decode_blob(place.digest, place.encoding, stored, place.raw)
            except Corrupt:  # perhaps on the way: what the store holds decides
                again = deps.store.get_range(keys.pack(place.pack_id), place.offset, place.offset + place.stored)
                blob = decode_blob(place.digest, place.encoding, again, place.raw)
            yield place.digest, bytes(blob)


def _runs(ordered: Iterable[BlobPlace]) -> Iterator[list[BlobPlace]]:
    run: list[BlobPlace] = []
    for place in ordered:
        if run:
            end = run[-1].offset + run[-1].stored
            far = place.offset - end > _NEAR or place.offset + place.stored - run[0].offset > _MOST_READ
            if place.pack_id != run[0].pack_id or far:
                yield run
                run = []
        run.append(place)
    if run:
        yield run
