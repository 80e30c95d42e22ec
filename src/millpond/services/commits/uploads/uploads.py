"""Uploads: which content is missing, where to write packs and pages, and which packs have come.

Clients write with signed URLs, one PUT each. A pack serves deduplication for its uploader alone until every byte of
it has been checked (services/commits/packs/trust.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import zip_longest

from sqlalchemy import Connection

from millpond.blobs.signing import LocalSigner
from millpond.db import blobs, projects, promised_pages, quotas, uploads
from millpond.db.batches import batches
from millpond.errors import BadRequest, Incomplete, Unavailable
from millpond.lake.digests import DIGEST_SIZE
from millpond.lake.keys import ProjectKeys
from millpond.lake.packs import read_index
from millpond.model.dataset import BlobPlace, PackState, Upload
from millpond.model.ids import new_id, new_pack_id
from millpond.model.people import Actor, Project
from millpond.model.quantity import format_count
from millpond.services.commits.packs import trust as pack_trust
from millpond.services.commits.packs.trust import owner_of, scope_of
from millpond.services.deps import Deps
from millpond.services.lake import stores
from millpond.services.people import access
from millpond.services.quotas import checks

# Requests to the store at a time, for one caller.
_PARALLEL = 8
# Packs whose blobs are noted in one transaction: each ends with a write to disk, and each keeps others waiting.
_PACKS_AT_ONCE = 4
_CRC32 = re.compile(r"[A-Za-z0-9+/]{5}[AQgw]==")


@dataclass(frozen=True, slots=True)
class Slot:
    """One signed PUT: the object's id and how to write it."""

    id: str
    url: str
    expires_at: datetime
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WrittenPack:
    id: str
    size: int


def create(deps: Deps, actor: Actor, project: Project) -> Upload:
    now = deps.clock.now()
    upload = Upload(id=new_id(), project_id=project.id, owner=owner_of(actor), created_at=now, used_at=now)
    with deps.db.write() as tx:
        uploads.insert(tx, upload)
    return upload


def begins_empty(deps: Deps, upload: Upload) -> bool:
    """True if there is nothing at all that it may build on, so that nothing need be asked for."""
    return not pack_trust.any_usable(deps, upload.project_id, upload.owner)


def find(tx: Connection, actor: Actor, project: Project, upload_id: str) -> Upload:
    """NotFound unless it is the actor's own, in this project."""
    found = uploads.get(tx, upload_id)
    if found is None or found.project_id != project.id or found.owner != owner_of(actor):
        raise access.not_found("upload", upload_id)
    return found


def get(deps: Deps, actor: Actor, project: Project, upload_id: str) -> Upload:
    with deps.db.read() as tx:
        return find(tx, actor, project, upload_id)


def missing(deps: Deps, upload: Upload, digests: bytes) -> bytes:
    """One byte for each digest: 1 if it must be sent, 0 if the project has it for this uploader."""
    if len(digests) % DIGEST_SIZE:
        raise BadRequest(f"Digests have {DIGEST_SIZE} bytes each; {len(digests)} bytes are not whole digests.")
    asked = [digests[at : at + DIGEST_SIZE] for at in range(0, len(digests), DIGEST_SIZE)]
    scope = scope_of(deps, upload.project_id, upload.owner)
    known = pack_trust.known(deps, upload.project_id, upload.owner, asked, scope.blobs if scope else None)
    return bytes(digest not in known for digest in asked)


def pack_slots(
    deps: Deps,
    upload: Upload,
    count: int,
    checksums: Sequence[str] = (),
    *,
    sizes: Sequence[int] = (),
    site_id: str | None = None,
) -> list[Slot]:
    """Places for `count` new packs. Their ids are ours, so no two uploads ever share one.

    They are reached through the endpoint of the site from where they come, if it has one.

    `checksums` are the CRC-32 of each; a slot names its own where the store refuses what does not have it. With or
    without, a slot only creates where the store heeds conditions. `sizes` are checked against the project's quota
    before anything is sent; without them, what is sent is refused when it is told of.
    """
    if checksums and (len(checksums) != count or not all(map(_CRC32.fullmatch, checksums))):
        raise BadRequest("Give one CRC-32 for each pack: four bytes in base64.")
    if sizes and len(sizes) != count:
        raise BadRequest("Give one size for each pack.")
    now = deps.clock.now()
    ids = [new_pack_id() for _ in range(count)]
    with deps.db.write() as tx:
        check_quota(tx, deps, upload, sum(sizes) or 1)
        if not uploads.touch(tx, upload.id, now):
            raise access.not_found("upload", upload.id)
        uploads.promise_packs(tx, upload, ids, sizes=sizes, now=now)
    keys = ProjectKeys(upload.project_id)
    return [
        _slot(deps, pack_id, keys.pack(pack_id), now, checksum, site_id)
        for pack_id, checksum in zip_longest(ids, checksums, fillvalue="")
    ]


def page_slots(deps: Deps, upload: Upload, page_ids: Sequence[str]) -> list[Slot]:
    """Places for those pages that the project does not have."""
    for page_id in page_ids:
        check_page_id(page_id)
    now = deps.clock.now()
    new = promise_pages(deps, upload.project_id, page_ids, upload_id=upload.id)
    keys = ProjectKeys(upload.project_id)
    return [_page_slot(deps, page_id, keys.page(page_id), now) for page_id in new]


def promise_pages(
    deps: Deps, project_id: str, page_ids: Sequence[str], *, upload_id: str | None = None
) -> Mapping[str, str]:
    """Those of these pages that no commit of the project has, each with its token; from now on they may be written.

    Unavailable while one of them is being removed from the lake: it would take the new object along.
    """
    now = deps.clock.now()
    keys = ProjectKeys(project_id)
    with deps.db.write() as tx:
        known = blobs.pages(tx, project_id, page_ids)
        new = [page_id for page_id in dict.fromkeys(page_ids) if page_id not in known]
        promised_pages.promise(tx, project_id, new, now)
        # Behind the promise: what is doomed at the same moment is seen here, or sees the promise.
        if promised_pages.doomed_among(tx, (keys.page(page_id) for page_id in new)):
            deps.events.wake("doomed")
            raise Unavailable("Some of these pages are being removed.", hint="Try again in a moment.")
        if upload_id is not None:
            uploads.touch(tx, upload_id, now)
        tokens = promised_pages.tokens(tx, project_id, new)
    return {page_id: tokens[page_id] for page_id in new}


def packs_written(deps: Deps, upload: Upload, written: Sequence[WrittenPack], *, counts: bool = True) -> None:
    """Take packs the client has written. Telling it twice is the same as once. `counts`: a quota may refuse them.

    Incomplete names packs that are not there with the size told; BadFormat one that is no pack.
    """
    new = _promised(deps, upload, written)
    with ThreadPoolExecutor(_PARALLEL) as pool:
        found = list(pool.map(lambda item: _read(deps, upload, item), new))
    absent = [item.id for item, places in zip(new, found, strict=True) if places is None]
    if absent:
        raise Incomplete(
            f"{format_count(len(absent), 'pack')} not found in the lake with the reported size.", packs=absent
        )
    for batch in batches(zip(new, found, strict=True), _PACKS_AT_ONCE):
        live: list[Sequence[BlobPlace]] = []
        with deps.db.write() as tx:
            if counts:
                told = uploads.promised_bytes(tx, [item.id for item, _ in batch])
                check_quota(tx, deps, upload, sum(item.size - told.get(item.id, item.size) for item, _ in batch))
            for item, places in batch:
                if uploads.make_live(tx, item.id, size=item.size, blobs=len(places or ())):
                    blobs.insert_places(tx, upload.project_id, places or ())
                    live.append(places or ())
            uploads.touch(tx, upload.id, deps.clock.now())
        # Nothing but what the database has: whoever tells twice at once may have written another pack in between.
        for taken in live:
            deps.recent_places.note(upload.project_id, taken)


def check_quota(tx: Connection, deps: Deps, upload: Upload, asked: int) -> None:
    """OverQuota if the project may not keep so much more in the lake."""
    if asked > 0 and quotas.locked(tx, upload.project_id).lake_bytes is not None:
        name = projects.names_of(tx, [upload.project_id]).get(upload.project_id, "")
        checks.check_lake(tx, deps.clock.now(), upload.project_id, name, asked)


def check_page_id(page_id: str) -> str:
    if len(page_id) != 2 * DIGEST_SIZE or not set(page_id) <= set("0123456789abcdef"):
        raise BadRequest(
            f"{page_id[:80]!r} is not the id of a page or commit.", hint="Ids are 64 lower-case hex digits."
        )
    return page_id


def _promised(deps: Deps, upload: Upload, written: Sequence[WrittenPack]) -> list[WrittenPack]:
    """Those that are not live yet; BadRequest for packs of another upload, Incomplete for those that are gone."""
    with deps.db.read() as tx:
        rows = {row.id: row for row in uploads.packs(tx, upload.project_id, [item.id for item in written])}
    new: dict[str, WrittenPack] = {}
    for item in written:
        row = rows.get(item.id)
        if row is not None and row.upload_id != upload.id:
            raise BadRequest(f"Pack {item.id[:40]!r} does not belong to this upload.")
        if row is None or row.state is PackState.DELETING:
            raise Incomplete(f"Pack {item.id[:40]!r} no longer exists.", packs=[item.id])
        if row.state is PackState.PROMISED:
            new[item.id] = item
        elif row.bytes != item.size:
            raise BadRequest(f"Pack {item.id} has {row.bytes} bytes, not {item.size}.")
    return list(new.values())


def _read(deps: Deps, upload: Upload, item: WrittenPack) -> list[BlobPlace] | None:
    key = ProjectKeys(upload.project_id).pack(item.id)
    info = deps.store.head(key)
    if info is None or info.size != item.size:
        return None
    return read_index(item.id, item.size, lambda start, end: deps.store.get_range(key, start, end))


def _slot(deps: Deps, identifier: str, key: str, now: datetime, checksum: str, site_id: str | None) -> Slot:
    signed = stores.sign_create(deps, site_id, key, checksum)
    expires = now + timedelta(seconds=deps.settings.url_seconds)
    return Slot(id=identifier, url=signed.url, headers=dict(signed.headers), expires_at=expires)


def _page_slot(deps: Deps, page_id: str, key: str, now: datetime) -> Slot:
    """The server's own URL on every store: a page is shared by whoever has it, so what comes is looked at first."""
    seconds = deps.settings.url_seconds
    signed = LocalSigner(deps.secret).sign("PUT", key, seconds)
    return Slot(id=page_id, url=signed.url, expires_at=now + timedelta(seconds=seconds))
