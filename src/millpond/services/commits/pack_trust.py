"""Who may build on which pack.

- *Present*: its index was read, and it is neither bad nor being removed. Nobody builds on anything else.
- *Verified*: every byte was read back and checked when no URL could change it any more. Everybody in the project may
  build on it; on any other pack only its uploader.
- *Sealed*: no signed URL can overwrite it any more.

A job builds on what it sent, and on verified packs of what it may read; of everything else it knows nothing
(`job_scope.py`).

The database applies the first two where it looks up packs (`db/uploads.py`: PRESENT and `usable_by`). Verifying and
copying is in `verify.py`, moving leaves onto verified packs in `stable_packs.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta

from sqlalchemy import Connection

from millpond.db import blobs, uploads
from millpond.db.blobs import Within
from millpond.db.uploads import Pack
from millpond.errors import Incomplete
from millpond.model.dataset import BlobPlace
from millpond.services.deps import Deps

# An owner who has sent nothing: usable for it is what is verified.
NOBODY = ""
_JOB = "placement:"
# Digests, packs and pages that an error names at most; the client asks about everything else itself.
NAMED = 1000
# Clocks of servers and stores differ; a request that began in time may end a little later.
_MARGIN_SECONDS = 120


def is_sealed(deps: Deps, pack: Pack) -> bool:
    ends = pack.promised_at + timedelta(seconds=deps.settings.url_seconds + _MARGIN_SECONDS)
    return deps.store.signed_puts_only_create or deps.clock.now() >= ends


def placement_of(owner: str) -> str | None:
    """The placement of a job whose packs these are; None for a person's."""
    return owner.removeprefix(_JOB) if owner.startswith(_JOB) else None


def owner_of_placement(placement_id: str) -> str:
    return f"{_JOB}{placement_id}"


def any_usable(deps: Deps, project_id: str, owner: str) -> bool:
    """True if the project has a pack that `owner` may build on."""
    with deps.db.read() as tx:
        return uploads.is_any_usable(tx, project_id, owner)


def known(
    deps: Deps, project_id: str, owner: str, digests: Iterable[bytes], within: Within | None = None
) -> set[bytes]:
    """The digests that `owner` need not send: they lie in packs that `owner` may build on."""
    with deps.db.read() as tx:
        return blobs.known(tx, project_id, digests, owner=owner, within=within)


def usable_places(
    deps: Deps, project_id: str, owner: str, digests: Collection[bytes], within: Within | None = None
) -> dict[bytes, BlobPlace]:
    """Where the digests lie that `owner` may build on."""
    if not digests:
        return {}
    noted = deps.recent_places.find(project_id, digests)
    with deps.db.read() as tx:
        return blobs.places(tx, project_id, digests, owner=owner, noted=noted, within=within)


def unverified_of_others(tx: Connection, project_id: str, owner: str) -> dict[str, Pack]:
    """Present packs, by id, that `owner` may not build on yet."""
    return {pack.id: pack for pack in uploads.unread_of_others(tx, project_id, owner)}


def check_packs(tx: Connection, project_id: str, packs_of: Mapping[str, Collection[str]]) -> None:
    """Raise Incomplete, naming what to send again, unless all packs that these pages need are present."""
    needed = {pack_id for packs in packs_of.values() for pack_id in packs}
    there = {pack.id for pack in uploads.packs(tx, project_id, needed) if pack.is_present}
    if lost := sorted(needed - there):
        pages = sorted(page_id for page_id, packs in packs_of.items() if not there.issuperset(packs))
        raise Incomplete(
            f"{len(lost)} packs disappeared during the upload; send their content again.",
            packs=lost[:NAMED],
            pages=pages[:NAMED],
            blobs=[digest.hex() for digest in blobs.digests_in(tx, lost[:NAMED], limit=NAMED)],
        )
