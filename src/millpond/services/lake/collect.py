"""Collecting the lake: mark what is needed, condemn what is not, delete it, all while others upload.

Nothing here depends on waiting. What was marked holds as long as the project's sequence is the same, which every
transaction checks that removes something; accepting a commit raises it, takes condemned packs back, and is refused
with what to send again where it comes too late (services/commits/accept.py). Pages go before the packs they need, and
upper pages before lower ones: a page that is known has everything below it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import artifacts, collecting, projects, promised_pages
from millpond.db.batches import batches
from millpond.decide.collection import Mark, PackPlan, PackSeen, Policy, plan_packs, stale_pages_before, why_stays
from millpond.lake.keys import ProjectKeys
from millpond.model.dataset import PackState
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.lake import drift, pending_deletion, purge, set_aside
from millpond.services.lake.marking import Marks, Unreadable, mark_pages
from millpond.services.lake.set_aside import Reviewed
from millpond.services.people import audit
from millpond.services.runs import artifact_commits

logger = getLogger(__name__)

_TRIES = 5
_AT_ONCE = 1000
_NAMED = 100
_UPLOAD_KEPT = timedelta(days=30)


class CollectedBytes(Exception):
    """Somebody committed since the project was looked at."""


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """What goes from one project. Upper pages stand before lower ones."""

    project_id: str
    sequence: int
    reviewed: Sequence[Reviewed]
    pages: Sequence[tuple[bytes, int]] = ()
    promised: Sequence[bytes] = ()
    packs: PackPlan = field(default_factory=PackPlan)


@dataclass(frozen=True, slots=True)
class Staying:
    """Why some packs stay."""

    reason: str
    packs: int
    bytes: int


@dataclass(frozen=True, slots=True)
class GoingCommit:
    dataset: str
    commit_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProjectCollected:
    """What goes from one project (or would), and why the rest stays."""

    project: str
    packs: int = 0
    bytes: int = 0
    pages: int = 0
    commits: int = 0
    going_commits: Sequence[GoingCommit] = ()  # the first of them
    set_aside: int = 0  # commits that nothing names, which go in some days
    stays: Sequence[Staying] = ()
    problem: str | None = None  # why nothing could be removed here


@dataclass(frozen=True, slots=True)
class Collected:
    dry_run: bool
    projects: Sequence[ProjectCollected]
    objects: int  # of the lake that were removed


def collect(deps: Deps, actor: Actor, *, dry_run: bool = False, now: bool = False) -> Collected:
    """All projects. NotReady while another collection runs. Cut off at any moment, the next one goes on."""
    policy = Policy.hurried() if now else Policy()
    with deps.db.read() as tx:
        found = list(collecting.project_ids(tx))
    if dry_run:
        reports = [_report(name, look(deps, project_id, policy, dry_run=True)) for project_id, name in found]
        return Collected(dry_run=True, projects=reports, objects=0)
    deps.fence.check(now=True)
    with pending_deletion.permission(deps) as held:
        purge.purge_datasets(deps, deps.clock.now())
        reports = [_report(name, collect_project(deps, project_id, policy)) for project_id, name in found]
        objects = pending_deletion.remove_all(held)
    with deps.db.write() as tx:
        collecting.delete_uploads(tx, before=deps.clock.now() - _UPLOAD_KEPT)
        if objects or any(report.packs or report.commits for report in reports):
            size = sum(report.bytes for report in reports)
            details = {"objects": objects, "bytes": size}
            audit.record(tx, now=deps.clock.now(), actor=actor, action="lake.collect", subject="lake", details=details)
    return Collected(dry_run=False, projects=reports, objects=objects)


def collect_project(deps: Deps, project_id: str, policy: Policy) -> CollectionPlan | str:
    """What goes from one project: its rows are gone, its objects doomed. A sentence where nothing could be done."""
    if (why := drift.why_not_collect(deps, project_id)) is not None:
        return why
    removed: list[Reviewed] = []
    for _ in range(_TRIES):
        if not artifact_commits.gather_project(deps, project_id):
            continue  # more was logged meanwhile
        removed += remove_commits(deps, project_id, policy)
        try:
            plan = look(deps, project_id, policy)
            if isinstance(plan, str):
                return plan
            remove_pages(deps, plan, policy)
            condemn(deps, plan, policy)
            delete(deps, plan, policy)
        except CollectedBytes:
            continue
        return replace(plan, reviewed=_together(removed, plan.reviewed))
    return "Commits arrive faster than they can be checked; the next collection tries again."


def remove_commits(deps: Deps, project_id: str, policy: Policy) -> list[Reviewed]:
    """Commits are set aside or removed; the reviews that were carried out."""
    now = deps.clock.now()
    with deps.db.read() as tx:
        lineage = collecting.named_in_lineage(tx, project_id)
        reviewed = set_aside.review(tx, project_id, policy, now, lineage=lineage)
    return [item for item in reviewed if set_aside.carry_out(deps, project_id, item, now)]


def look(deps: Deps, project_id: str, policy: Policy, *, dry_run: bool = False) -> CollectionPlan | str:
    """Mark, and plan what goes. Without `dry_run` commits that are still there keep what they need, whatever is said
    of them."""
    now = deps.clock.now()
    with deps.db.read() as tx:
        sequence = projects.sequence(tx, project_id)
        is_staged = not dry_run and bool(artifacts.runs_with_staged(tx, project_id=project_id, limit=1))
        lineage = collecting.named_in_lineage(tx, project_id)
        reviewed = set_aside.review(tx, project_id, policy, now, lineage=lineage)
    if sequence is None:
        return "The project no longer exists."
    if is_staged:  # packs that only staged artifacts need are marked by nothing
        raise CollectedBytes
    roots = [root for item in reviewed for root in item.roots(without_removable=dry_run)]
    try:
        marks = mark_pages(deps, project_id, roots)
    except Unreadable as error:
        return f"{error} Nothing is removed until this is fixed. See: mill data verify"
    pages = _unmarked_pages(deps, project_id, marks)
    stale = _stale_pages(deps, project_id, marks, stale_pages_before(policy, now))
    going = {page_id for page_id, _ in pages} | set(stale)
    packs = plan_packs(_packs(deps, project_id, marks, going), policy, now)
    return CollectionPlan(project_id, sequence, reviewed, pages, stale, packs)


def remove_pages(deps: Deps, plan: CollectionPlan, policy: Policy) -> None:
    """Pages that no commit needs, and promised ones nobody waits for any more, become doomed objects."""
    keys = ProjectKeys(plan.project_id)
    now = deps.clock.now()
    for batch in batches(plan.pages, _AT_ONCE):
        with deps.db.write() as tx:
            _check_sequence(tx, plan)
            _doom_pages(tx, keys, [page_id for page_id, _ in batch], now)
    for ids in batches(plan.promised, _AT_ONCE):
        with deps.db.write() as tx:
            _check_sequence(tx, plan)
            before = stale_pages_before(policy, now)
            _doom_pages(
                tx, keys, promised_pages.stale(tx, plan.project_id, before=before, limit=_AT_ONCE, only=ids), now
            )


def condemn(deps: Deps, plan: CollectionPlan, policy: Policy) -> None:
    """Nothing needs these packs. A commit that comes in time takes them back."""
    for ids in batches(plan.packs.goes, _AT_ONCE):
        with deps.db.write() as tx:
            _check_sequence(tx, plan)
            going = _still_going(tx, plan, ids, policy, deps.clock.now())
            collecting.set_state(
                tx, going, among=[PackState.LIVE], to=PackState.CONDEMNED, now=deps.clock.now()
            )  # fmt: skip


def delete(deps: Deps, plan: CollectionPlan, policy: Policy) -> None:
    """From here on there is no way back: whoever builds on these packs sends their content again."""
    for ids in batches(plan.packs.goes, _AT_ONCE):
        with deps.db.write() as tx:
            _check_sequence(tx, plan)
            going = _still_going(tx, plan, ids, policy, deps.clock.now())
            states = [PackState.CONDEMNED, PackState.PROMISED]
            collecting.set_state(tx, going, among=states, to=PackState.DELETING, now=deps.clock.now())


def _check_sequence(tx: Connection, plan: CollectionPlan) -> None:
    if projects.lock_sequence(tx, plan.project_id) != plan.sequence:
        raise CollectedBytes


def _still_going(
    tx: Connection, plan: CollectionPlan, pack_ids: Sequence[str], policy: Policy, now: datetime
) -> list[str]:
    """Their uploads have not been used since. That no page needs them is part of the statement itself."""
    packs = collecting.packs(tx, plan.project_id, limit=len(pack_ids), only=pack_ids)
    return [pack.id for pack in packs if why_stays(pack, policy, now) is None]


def _doom_pages(tx: Connection, keys: ProjectKeys, page_ids: Sequence[bytes], now: datetime) -> None:
    promised_pages.forget(tx, keys.project_id, page_ids)
    ids = [page_id.hex() for page_id in page_ids]
    promised_pages.doom(
        tx, keys.project_id, [key(page_id) for page_id in ids for key in (keys.page, keys.locator)], now
    )


def _unmarked_pages(deps: Deps, project_id: str, marks: Marks) -> list[tuple[bytes, int]]:
    found: list[tuple[bytes, int]] = []
    for leaves in (False, True):
        after = b""
        while True:
            with deps.db.read() as tx:
                part = collecting.pages(tx, project_id, leaves=leaves, limit=_AT_ONCE, after=after)
            if not part:
                break
            after = part[-1][0]
            found.extend(page for page in part if page[0] not in marks)
    return sorted(found, key=lambda page: -page[1])


def _stale_pages(deps: Deps, project_id: str, marks: Marks, before: datetime) -> list[bytes]:
    found: list[bytes] = []
    after = b""
    while True:
        with deps.db.read() as tx:
            part = promised_pages.stale(tx, project_id, before=before, limit=_AT_ONCE, after=after)
        if not part:
            return found
        after = part[-1]
        found.extend(page_id for page_id in part if page_id not in marks)


def _packs(deps: Deps, project_id: str, marks: Marks, going: Collection[bytes]) -> Iterator[PackSeen]:
    """All packs with the best mark of the pages that need each."""
    after = ""
    while True:
        with deps.db.read() as tx:
            part = collecting.packs(tx, project_id, limit=_AT_ONCE, after=after)
            needed_by = collecting.pages_of_packs(tx, [pack.id for pack in part])
        if not part:
            return
        after = part[-1].id
        for pack in part:
            staying = (page_id for page_id in needed_by.get(pack.id, ()) if page_id not in going)
            best = min((marks.get(page_id, Mark.UPLOADING) for page_id in staying), default=None)
            yield replace(pack, mark=best)


def _together(removed: Sequence[Reviewed], left: Sequence[Reviewed]) -> list[Reviewed]:
    """What was removed, beside what is set aside now."""
    return [
        *(replace(item, rows={}) for item in removed if item.removable),
        *(replace(item, removable={}) for item in left),
    ]


def _report(project: str, plan: CollectionPlan | str) -> ProjectCollected:
    if isinstance(plan, str):
        return ProjectCollected(project=project, problem=plan)
    going = [
        GoingCommit(dataset=f"{project}/{item.dataset.name}", commit_id=commit_id, reason=why)
        for item in plan.reviewed
        for commit_id, why in item.removable.items()
    ]
    return ProjectCollected(
        project=project,
        packs=len(plan.packs.goes),
        bytes=plan.packs.bytes,
        pages=len(plan.pages) + len(plan.promised),
        commits=len(going),
        going_commits=going[:_NAMED],
        set_aside=sum(_set_aside(item) for item in plan.reviewed),
        stays=_stays(plan.packs),
    )


def _set_aside(item: Reviewed) -> int:
    return sum(commit_id in item.rows and commit_id not in item.removable for commit_id in item.retained.goes)


def _stays(packs: PackPlan) -> list[Staying]:
    ordered: Mapping[str, tuple[int, int]] = {why: (held.packs, held.bytes) for why, held in packs.stays.items()}
    return [
        Staying(reason=why, packs=count, bytes=size)
        for why, (count, size) in sorted(ordered.items(), key=lambda item: (-item[1][1], item[0]))
    ]
