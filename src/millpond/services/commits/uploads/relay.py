"""Packs and pages that come through the server, for those who cannot write to the object store: browsers, mostly.

They take the same slots as everybody else and only send the bytes here instead of to the slot's URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from millpond.blobs.store import Buffer
from millpond.db import uploads
from millpond.errors import BadRequest, Conflict, Incomplete
from millpond.lake.keys import ProjectKeys
from millpond.lake.page_batches import unpack_batch
from millpond.model.dataset import PackState, Upload
from millpond.services.commits.pages import PARALLEL, ProjectPages, check_frame
from millpond.services.commits.uploads.uploads import check_page_id, promise_pages
from millpond.services.deps import Deps


def put_pack(deps: Deps, upload: Upload, pack_id: str, data: Buffer) -> None:
    """Write a pack promised to this upload; written again with the same length it stays as it is.

    What is in it is looked at when the client says that it is written, as for every pack.
    """
    with deps.db.read() as tx:
        rows = uploads.packs(tx, upload.project_id, [pack_id])
    if not rows or rows[0].upload_id != upload.id:
        raise BadRequest(f"Pack {pack_id[:40]!r} does not belong to this upload.")
    state = rows[0].state
    if state not in (PackState.PROMISED, PackState.LIVE):
        raise Incomplete(f"Pack {pack_id} no longer exists.", packs=[pack_id])
    key = ProjectKeys(upload.project_id).pack(pack_id)
    there = deps.store.head(key)
    if there is None and state is PackState.PROMISED:
        deps.store.put(key, data, if_absent=True)
    elif there is None or there.size != len(data):
        raise Conflict(f"Pack {pack_id} was already written with another length.", hint="Request a new slot.")


def put_page(deps: Deps, upload: Upload, page_id: str, frame: Buffer) -> None:
    """Write a page, which comes as it is stored: one zstd frame. BadFormat unless it is the page of this id."""
    _put(deps, upload, {check_page_id(page_id): bytes(frame)})


def put_pages(deps: Deps, upload: Upload, batch: bytes) -> None:
    """Write the pages of a batch (lake/page_batches.py). BadFormat unless each is the page of its id: none is then."""
    _put(deps, upload, unpack_batch(batch))


def _put(deps: Deps, upload: Upload, frames: Mapping[str, bytes]) -> None:
    pages = {page_id: check_frame(page_id, frame) for page_id, frame in frames.items()}
    tokens = promise_pages(deps, upload.project_id, list(frames), upload_id=upload.id)
    keys = ProjectKeys(upload.project_id)
    with ThreadPoolExecutor(PARALLEL) as pool:
        list(pool.map(lambda page_id: deps.store.put(keys.page(page_id), frames[page_id]), tokens))
    lake = ProjectPages(deps.store, deps.pages, upload.project_id)
    for page_id, token in tokens.items():
        lake.keep_written(page_id, token, pages[page_id])
