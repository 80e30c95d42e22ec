"""Makes commits rest on packs that nobody else can change: verified ones, copies of them, or the committer's own."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set

from millpond.db import blobs, uploads
from millpond.db.uploads import Pack
from millpond.errors import BadFormat, NotFound, Unavailable
from millpond.lake.keys import ProjectKeys
from millpond.lake.locators import unpack_locator
from millpond.services.commits.checks.leaf import CheckedLeaf
from millpond.services.commits.packs import verify
from millpond.services.commits.packs.locators import create_locator, relocate
from millpond.services.commits.packs.trust import is_sealed, unverified_of_others
from millpond.services.deps import Deps

# Packs of others that are read for one commit; more of them wait for the loop that checks packs.
_CHECKED_NOW = 32
_TRIES = 3
_LATER = "Try again in a moment."


def ensure_stable_packs(
    deps: Deps, project_id: str, owner: str, leaves: Set[str], packs: dict[str, frozenset[str]]
) -> bool:
    """Verify what these leaves of earlier commits rest on; move them to copies while a URL can still change it.

    `packs` receives those of leaves with new locators. Returns False once a pack was found bad.
    """
    with deps.db.read() as tx:
        others = unverified_of_others(tx, project_id, owner)
        changing = {pack_id for pack_id, pack in others.items() if not is_sealed(deps, pack)}
        packs_of = blobs.packs_of_pages(tx, project_id, leaves if changing else ())
    unstable = {page_id for page_id, needed in packs_of.items() if not changing.isdisjoint(needed)}
    # Somebody may have had them copied before.
    packs.update(relocate(deps, project_id, unstable))
    if not verify_shared(deps, project_id, owner, leaves - packs.keys()):
        return False
    left = unstable - packs.keys()
    packs.update(relocate(deps, project_id, left))
    return left <= packs.keys()


def verify_shared(deps: Deps, project_id: str, owner: str, leaves: Collection[str]) -> bool:
    """Verify packs of others that these leaves of earlier commits name; copy those that a URL may still change.

    Returns False once one was condemned: its leaves are new again unless their content lies elsewhere, too.
    """
    with deps.db.read() as tx:
        others = unverified_of_others(tx, project_id, owner)
        packs_of = blobs.packs_of_pages(tx, project_id, leaves if others else ())
    needed = {pack_id for packs in packs_of.values() for pack_id in packs} & others.keys()
    return _secure_now(deps, [others[pack_id] for pack_id in sorted(needed)])


def write_locator(deps: Deps, project_id: str, owner: str, leaf: CheckedLeaf) -> frozenset[str] | None:
    """Create the locator of a new leaf, or keep one whose packs `owner` may build on. Returns the packs it names.

    None if the one that is there names others' unverified packs: `settle_locator` then, one leaf after the other.
    """
    if create_locator(deps, project_id, leaf):
        return leaf.packs
    found = _packs_there(deps, project_id, leaf)
    return frozenset(pack.id for pack in found) if found and all(pack.is_usable_by(owner) for pack in found) else None


def settle_locator(deps: Deps, project_id: str, owner: str, leaf: CheckedLeaf) -> frozenset[str]:
    """Verify the packs that the locator of a new leaf names, and replace it if they are bad or may still change.

    Somebody's commit may just be becoming visible with that locator, and nobody has read the committer's packs yet: as
    long as the others' are good, they or copies of them stay in place.
    """
    page_id = leaf.row.id
    for _ in range(_TRIES):
        found = _packs_there(deps, project_id, leaf)
        if not found:
            deps.store.put(ProjectKeys(project_id).locator(page_id), leaf.locator)
            return leaf.packs
        if all(pack.is_usable_by(owner) for pack in found):
            return frozenset(pack.id for pack in found)
        moved = relocate(deps, project_id, [page_id])
        if not moved and _secure_now(deps, [pack for pack in found if pack.verified_at is None]):
            moved = relocate(deps, project_id, [page_id])
        if moved:
            return moved[page_id]
    raise Unavailable("Content that this commit shares with others is still being checked.", hint=_LATER)


def _packs_there(deps: Deps, project_id: str, leaf: CheckedLeaf) -> Sequence[Pack]:
    """The packs that the page's locator names; none if one is bad or gone, or it is no locator of this page."""
    try:
        there = unpack_locator(deps.store.get(ProjectKeys(project_id).locator(leaf.row.id)))
    except (BadFormat, NotFound):
        return ()
    named = {place.pack_id for place in there.values()}
    with deps.db.read() as tx:
        found = [pack for pack in uploads.packs(tx, project_id, named) if pack.is_present]
    is_whole = len(found) == len(named) and there.keys() == unpack_locator(leaf.locator).keys()
    return found if is_whole else ()


def _secure_now(deps: Deps, packs: Sequence[Pack]) -> bool:
    if len(packs) > _CHECKED_NOW:
        deps.check_soon.update(pack.id for pack in packs)
        deps.events.wake("verify")
        raise Unavailable(
            f"{len(packs)} packs that this commit shares with others are still being checked.", hint=_LATER
        )
    return verify.secure(deps, packs)
