"""Who may build on which pack.

- *Present*: its index was read, and it is neither bad nor being removed. Nobody builds on anything else.
- *Verified*: every byte was read back and checked when no URL could change it any more. Everybody in the project may
  build on it; on any other pack only its uploader.
- *Sealed*: no signed URL can overwrite it any more.

A job builds on what it sent, and on verified packs of the commits that it may read (`JobScope`); of everything else
it knows nothing. Its token is for the job: knowing the id of a page or the digest of a blob of the same project must
not be enough to commit it as an output, and to read it as that.

The database applies the first two where it looks up packs (`db/uploads.py`: PRESENT and `usable_by`). Verifying and
copying is in `verify.py`, moving leaves onto verified packs in `stable.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from datetime import timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import blobs, commits, datasets, jobs, placements, uploads
from millpond.db.blobs import Within
from millpond.db.uploads import Pack
from millpond.errors import BadFormat, Corrupt, Forbidden, Incomplete, NotFound
from millpond.lake.reader import TreeReader
from millpond.model.dataset import BlobPlace
from millpond.model.people import Actor, ActorKind
from millpond.services.commits.pages import ProjectPages, page_ids
from millpond.services.deps import Deps

logger = getLogger(__name__)

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


def owner_of(actor: Actor) -> str:
    """Whose packs these are: a person's, whatever the machine, those of one placement of a job, or a workspace's."""
    if actor.kind is ActorKind.PLACEMENT:
        return owner_of_placement(actor.placement_id or "")
    if actor.kind is ActorKind.WORKSPACE:
        return f"workspace:{actor.workspace_id}"
    if actor.user_id is None:
        raise Forbidden("Only people and jobs can upload.")
    return f"user:{actor.user_id}"


def is_job(owner: str) -> bool:
    """True if these packs are a job's."""
    return placement_of(owner) is not None


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
        job.status.checkpoint_commit,
    ]
    found = commits.get_many(tx, {commit_id for commit_id in named if commit_id})
    own = {commit.dataset_id: datasets.get(tx, commit.dataset_id) for commit in found}
    here = {dataset_id for dataset_id, dataset in own.items() if dataset and dataset.project_id == project_id}
    return owners, {commit.tree for commit in found if commit.dataset_id in here}
