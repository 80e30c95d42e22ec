"""Locators of leaf pages: noting the packs they name, and moving leaves onto verified packs.

A page has one locator, whichever commits hold it, so a locator that is there is replaced only by one that names
verified packs, or when the packs it names are bad or gone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from millpond.db import blobs, projects
from millpond.errors import Conflict
from millpond.lake.keys import ProjectKeys
from millpond.lake.pages import LeafPage, decode_page
from millpond.services.commits.checks.leaf import CheckedLeaf, check_leaf
from millpond.services.commits.packs.trust import NOBODY, check_packs
from millpond.services.commits.pages import ProjectPages
from millpond.services.deps import Deps


def announce_locators(deps: Deps, project_id: str, leaves: Sequence[CheckedLeaf]) -> None:
    """Note which packs these leaves need, before locators say so. Incomplete if one was removed this very moment.

    A collection that has looked at one of them as part of a commit must look again: its locator is about to change.
    """
    packs_of = {leaf.row.id: leaf.packs for leaf in leaves}
    with deps.db.write() as tx:
        projects.lock_sequence(tx, project_id)
        check_packs(tx, project_id, packs_of)
        blobs.add_page_packs(tx, project_id, packs_of)
        if blobs.pages(tx, project_id, [leaf.row.id for leaf in leaves]):
            projects.raise_sequence(tx, project_id)


def create_locator(deps: Deps, project_id: str, leaf: CheckedLeaf) -> bool:
    """False if the page has one already. Announced first: whoever writes last, all that may be named is kept."""
    try:
        deps.store.put(ProjectKeys(project_id).locator(leaf.row.id), leaf.locator, if_absent=True)
    except Conflict:
        return False
    return True


def relocate(deps: Deps, project_id: str, page_ids: Collection[str]) -> dict[str, frozenset[str]]:
    """Write new locators for those of these leaves whose blobs all lie in verified packs. Returns their packs."""
    checked = (
        check_leaf(deps, project_id, NOBODY, page_id, leaf) for page_id, leaf in _leaves(deps, project_id, page_ids)
    )
    whole = [leaf for leaf in checked if not leaf.missing]
    if whole:
        announce_locators(deps, project_id, whole)
    for leaf in whole:
        deps.store.put(ProjectKeys(project_id).locator(leaf.row.id), leaf.locator)
    return {leaf.row.id: leaf.packs for leaf in whole}


def _leaves(deps: Deps, project_id: str, page_ids: Collection[str]) -> Iterable[tuple[str, LeafPage]]:
    pages = ProjectPages(deps.store, deps.pages, project_id)
    for page_id in sorted(page_ids):
        page = decode_page(pages.page(page_id))
        assert isinstance(page, LeafPage)
        yield page_id, page
