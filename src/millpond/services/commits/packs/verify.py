"""Reading new packs wholly and checking every digest: until then only their uploader builds on them.

Where a signed URL can overwrite what it wrote, only a check after the URL's end is the last word. Whoever must build on
such a pack earlier builds on a copy of what was checked, which no URL leads to.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import timedelta
from logging import getLogger

from millpond.db import blobs, projects, promised_pages, uploads, volume_usage
from millpond.db.uploads import Pack
from millpond.errors import BadFormat, Corrupt, NotFound
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import unpack_locator
from millpond.lake.packs import verify_pack
from millpond.lake.store_retry import sensible
from millpond.model.dataset import Upload
from millpond.model.ids import new_id
from millpond.services.commits.packs.locators import relocate
from millpond.services.commits.packs.trust import NOBODY, is_sealed
from millpond.services.commits.uploads.server import ServerUploader
from millpond.services.deps import Deps

logger = getLogger(__name__)

_LOOKED_AT = 1000
# Whose packs copies are: nobody's who has a URL.
_SERVER = "server"
# Reading packs back waits until uploads, downloads and fills are at rest: it takes processor and store from whoever
# waits for them. Packs that came long ago are checked beside that.
AT_REST = timedelta(seconds=20)
_GOES_ON = timedelta(minutes=10)


def verify_some(deps: Deps, *, limit: int = 16, at_rest: timedelta = timedelta()) -> int:
    """Check the oldest packs nobody has read yet; how many were looked at. One pack is in memory at a time.

    While the lake was used within the last `at_rest`, young packs have time, unless somebody waits for them.
    """
    now = deps.clock.now()
    wanted = frozenset(deps.check_soon)
    oldest_alone = now - _GOES_ON if _is_in_use(deps, at_rest) else None
    with deps.db.read() as tx:
        found = uploads.to_verify(tx, limit=_LOOKED_AT, promised_before=oldest_alone, wanted=wanted)
    deps.check_soon.difference_update(wanted - {pack.id for pack in found})
    waiting = [pack for pack in found if pack.id in wanted]
    waiting += [pack for pack in found if pack.id not in wanted and _is_due(deps, pack)]
    waiting = waiting[:limit]
    looked_at = 0
    for pack in waiting:
        if pack.id in wanted:
            secure(deps, [pack])
        elif pack.promised_at > now - _GOES_ON and _is_in_use(deps, at_rest):
            break  # has begun meanwhile; those behind this one are younger still
        else:
            verify(deps, pack)
        deps.check_soon.discard(pack.id)
        looked_at += 1
    if looked_at == limit:
        deps.events.wake("verify")  # there may be more
    return looked_at


def _is_in_use(deps: Deps, at_rest: timedelta) -> bool:
    """Whether somebody uploads or downloads, or a volume is being filled."""
    since = deps.clock.now() - at_rest
    if deps.lake_use.last_read > since:
        return True
    with deps.db.read() as tx:
        return uploads.is_any_in_use(tx, since) or bool(at_rest and volume_usage.filling_ids(tx))


def _is_due(deps: Deps, pack: Pack) -> bool:
    """What was found good is read once more, when nothing can change it any more."""
    return pack.id not in deps.found_good or is_sealed(deps, pack)


def verify(deps: Deps, pack: Pack, *, besides: Set[str] = frozenset()) -> bool:
    """True if the pack is what it says. A bad one is condemned: nobody builds on it any more.

    `besides` are packs that are about to be condemned: nothing is moved onto them.
    """
    sealed = is_sealed(deps, pack)  # before it is read
    if pack.id in deps.found_good and not sealed:
        return True
    if _read(deps, pack, besides) is None:
        return False
    if not sealed:
        deps.found_good.add(pack.id)
        return True
    with deps.db.write() as tx:
        uploads.mark_verified(tx, pack.id, deps.clock.now())
    deps.found_good.discard(pack.id)
    return True


def secure(deps: Deps, packs: Sequence[Pack], *, besides: Set[str] = frozenset()) -> bool:
    """True if all that these packs hold now lies in verified packs: in themselves, or in copies if they may change.

    The very bytes that were checked are written, by the server itself, so nobody has a URL of the copy. All are looked
    at, so that every bad one is condemned.
    """
    good = [
        verify(deps, pack, besides=besides) if is_sealed(deps, pack) else _copy(deps, pack, besides) for pack in packs
    ]
    return all(good)


def _copy(deps: Deps, pack: Pack, besides: Set[str]) -> bool:
    data = _read(deps, pack, besides)
    if data is None:
        return False
    now = deps.clock.now()
    upload = Upload(id=new_id(), project_id=pack.project_id, owner=_SERVER, created_at=now, used_at=now)
    with deps.db.write() as tx:
        uploads.insert(tx, upload)
    uploader = ServerUploader(deps, upload, counts=False)
    (slot,) = uploader.pack_slots(1)
    uploader.put(slot, data)
    uploader.packs_written([(slot.id, len(data))])
    with deps.db.write() as tx:
        uploads.mark_verified(tx, slot.id, deps.clock.now())
    logger.info("pack_copied pack=%s owner=%s copy=%s", pack.id, pack.owner, slot.id)
    return True


def _read(deps: Deps, pack: Pack, besides: Set[str]) -> bytes | None:
    """The pack, if it is what it says; None for a bad one, which is condemned."""
    try:
        return sensible(lambda: _checked(deps, pack))
    except (Corrupt, BadFormat, NotFound) as error:
        logger.error("pack_condemned pack=%s owner=%s reason=%s", pack.id, pack.owner, error.message)
        _condemn(deps, pack, error.message, besides)
        return None


def _checked(deps: Deps, pack: Pack) -> bytes:
    data = deps.store.get(ProjectKeys(pack.project_id).pack(pack.id))
    places = verify_pack(pack.id, data)
    with deps.db.read() as tx:
        if set(places) != set(blobs.places_in(tx, pack.id)):
            raise Corrupt(f"Pack {pack.id} does not match the index that was read when it arrived.")
    return data


def _condemn(deps: Deps, pack: Pack, problem: str, besides: Set[str]) -> None:
    """Nobody builds on the pack any more. Leaves that rest on it are moved to wherever else their content lies.

    Leaves whose content lies nowhere else count as unknown again: the next commit that has them must bring it.
    """
    with deps.db.read() as tx:
        pages = blobs.pages_on_pack(tx, pack.id)
    resting = {page_id for page_id in pages if _rests_on(deps, page_id, pack)}
    moved = _move_away(deps, pack, resting, {*besides, pack.id})
    now = deps.clock.now()
    with deps.db.write() as tx:
        projects.raise_sequence(tx, pack.project_id)
        uploads.reject(tx, pack.id, problem, now)
        blobs.drop_bad_packs(tx, pack.project_id, [page_id for page_id in pages if page_id not in resting - moved])
        forgotten = blobs.forget_pages(tx, pack.project_id, blobs.pages_on_pack(tx, pack.id))
        promised_pages.promise(tx, pack.project_id, forgotten, now)
    deps.found_good.discard(pack.id)


def _rests_on(deps: Deps, page_id: str, pack: Pack) -> bool:
    try:
        places = unpack_locator(deps.store.get(ProjectKeys(pack.project_id).locator(page_id)))
    except (BadFormat, NotFound):
        return True
    return any(place.pack_id == pack.id for place in places.values())


def _move_away(deps: Deps, pack: Pack, page_ids: Set[str], besides: Set[str]) -> Set[str]:
    """Move leaves off a bad pack, onto verified packs. Returns those that could be moved.

    Packs that hold the same content and that nobody has read yet are verified for it.
    """
    if not page_ids:
        return frozenset()
    moved = relocate(deps, pack.project_id, page_ids).keys()
    if moved == page_ids:
        return moved
    with deps.db.read() as tx:
        digests = {place.digest for place in blobs.places_in(tx, pack.id)}
        holding = blobs.packs_holding(tx, pack.project_id, digests) - besides
        unread = [found for found in uploads.packs(tx, pack.project_id, holding) if not found.is_usable_by(NOBODY)]
    secure(deps, [found for found in unread if found.is_present], besides=besides)
    return moved | relocate(deps, pack.project_id, page_ids - moved).keys()
