"""What a job may build its commits on: what it sent itself, and the commits that it may read.

Everybody else builds on all of the project. A job's token is for the job: knowing the id of a page or the digest of a
blob of the same project must not be enough to commit it as an output, and to read it as that.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import blobs, commits, datasets, jobs, placements
from millpond.db.blobs import Within
from millpond.errors import BadFormat, Corrupt, NotFound
from millpond.lake.pages import IndexPage
from millpond.lake.reader import TreeReader
from millpond.services.commits.pack_trust import owner_of_placement, placement_of
from millpond.services.commits.pages import ProjectPages
from millpond.services.deps import Deps

logger = getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobScope:
    # Pages of the commits it may read.
    pages: Set[str]
    # What it sent, itself or in an earlier attempt; and what packs of those commits hold: it may get URLs of them.
    blobs: Within


def scope_of(deps: Deps, project_id: str, owner: str, trees: Iterable[str] = ()) -> JobScope | None:
    """The scope of a job's packs and commits; None for others, who have no limit. `trees` belong to it as well."""
    placement_id = placement_of(owner)
    if placement_id is None:
        return None
    with deps.db.read() as tx:
        owners, readable = _of_placement(tx, project_id, placement_id)
    pages = {page for root in {*readable, *trees} for page in _pages_of(deps, project_id, root)}
    with deps.db.read() as tx:
        packs_of = blobs.packs_of_pages(tx, project_id, pages)
    return JobScope(pages, Within({pack for packs in packs_of.values() for pack in packs}, {owner, *owners}))


def _pages_of(deps: Deps, project_id: str, root: str) -> set[str]:
    """None of a damaged tree: what it holds is then sent again."""
    try:
        return page_ids(TreeReader(ProjectPages(deps.store, deps.pages, project_id), root))
    except (BadFormat, Corrupt, NotFound) as error:
        logger.warning("tree_not_readable tree=%s reason=%s", root, error.message)
        return set()


def page_ids(reader: TreeReader) -> set[str]:
    """All pages of a tree; only index pages are read."""
    found, level = {reader.root}, [reader.root]
    page = reader.page(reader.root)
    while isinstance(page, IndexPage):
        level = [
            child for page_id in level if isinstance(index := reader.page(page_id), IndexPage) for child in index.ids
        ]
        found.update(level)
        if page.level == 1:
            break
        page = reader.page(level[0])
    return found


def _of_placement(tx: Connection, project_id: str, placement_id: str) -> tuple[set[str], set[str]]:
    """The owners of packs of the job's attempts, and the trees of this project that the job reads."""
    placement = placements.get(tx, placement_id)
    job = jobs.get(tx, placement.job_id) if placement else None
    if job is None:
        return set(), set()
    owners = {owner_of_placement(attempt.id) for attempt in placements.of_job(tx, job.id)}
    named = [
        *(entry.commit_id for entry in job.spec.inputs),
        job.spec.code_commit,
        job.status.environment_commit,
        job.status.output_commit,
    ]
    found = commits.get_many(tx, {commit_id for commit_id in named if commit_id})
    own = {commit.dataset_id: datasets.get(tx, commit.dataset_id) for commit in found}
    here = {dataset_id for dataset_id, dataset in own.items() if dataset and dataset.project_id == project_id}
    return owners, {commit.tree for commit in found if commit.dataset_id in here}
