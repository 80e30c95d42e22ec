"""What the leaves of commits hold by directory: from memory, from their rows, and only then from the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from millpond.db import blobs
from millpond.lake.folders import LeafFolders, decode_folders, encode_folders
from millpond.services.commits.pages import PARALLEL, ProjectPages
from millpond.services.deps import Deps


def leaf_folders(deps: Deps, project_id: str, leaf_ids: Sequence[str]) -> list[LeafFolders]:
    """What each of these leaves holds. One query for those not in memory."""
    kept = deps.pages.folders
    found = {leaf_id: held for leaf_id in leaf_ids if (held := kept.get(leaf_id)) is not None}
    if unknown := [leaf_id for leaf_id in leaf_ids if leaf_id not in found]:
        with deps.db.read() as tx:
            noted = blobs.folders(tx, project_id, unknown)
        for leaf_id, frame in noted.items():
            found[leaf_id] = decode_folders(frame)
            kept.put(leaf_id, found[leaf_id])
        if unnoted := [leaf_id for leaf_id in unknown if leaf_id not in noted]:
            found |= _read(deps, project_id, unnoted)
    return [found[leaf_id] for leaf_id in leaf_ids]


def _read(deps: Deps, project_id: str, leaf_ids: Sequence[str]) -> dict[str, LeafFolders]:
    """Leaves that came before rows told this are read once, and noted."""
    pages = ProjectPages(deps.store, deps.pages, project_id)
    with ThreadPoolExecutor(min(PARALLEL, len(leaf_ids))) as pool:
        held = pool.map(lambda leaf_id: pages.keep_folders(leaf_id, pages.glance(leaf_id)), leaf_ids)
        found = dict(zip(leaf_ids, held, strict=True))
    with deps.db.write() as tx:
        blobs.note_folders(tx, project_id, {leaf_id: encode_folders(one) for leaf_id, one in found.items()})
    return found
