"""Policies "keep this branch cached on that volume": made, listed, ended, and carried out when branches move."""

from __future__ import annotations

from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import caches, notices, policies, volumes
from millpond.db.policies import PolicyView
from millpond.decide.notifications.notices import of_refusal
from millpond.errors import DoesNotFit, MillError, NameTaken, NotReady, VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.ids import new_id
from millpond.model.names import DEFAULT_BRANCH
from millpond.model.people import Actor, Role
from millpond.model.volume import CachePolicy
from millpond.services.caches.access import announce, find_volume, require_member
from millpond.services.caches.admission import differences
from millpond.services.caches.admission.admit import begin_fill
from millpond.services.caches.uses import count_miss
from millpond.services.commits import refs
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.services.listing import Listing, page_of, text_of
from millpond.services.people import access, audit

logger = getLogger(__name__)

# Who asked for what a policy brings, as it is shown.
BY = "policy of {}"
# A commit that was refused is asked for again so often: room comes when others go.
RETRY = timedelta(seconds=60)
# The loop that carries policies out, woken when branches move.
TOPIC = "branches"


def keep(deps: Deps, actor: Actor, dataset: str, volume: str, *, project: str | None = None) -> PolicyView:
    """Keep a branch cached on a volume from now on. Keeping it twice is once; NotFound without such a branch."""
    now = deps.clock.now()
    with deps.db.read() as tx:
        kept, ref = datasets.find_written(tx, actor, dataset, project=project)
        require_member(actor, kept.project_id, kept.project)
        branch = ref or DEFAULT_BRANCH
        refs.branch_head(tx, kept, branch)
        place = find_volume(tx, volume)
    policy = CachePolicy(new_id(), place.id, kept.id, branch, actor.name, now)
    try:
        with deps.db.write() as tx:
            if policies.find(tx, place.id, kept.id, branch) is None:
                policies.insert(tx, policy)
                audit.record(
                    tx, now=now, actor=actor, action="cache.keep", subject=f"{kept.written}@{branch}",
                    project_id=kept.project_id, details={"volume": place.name},
                )  # fmt: skip
    except IntegrityError as error:
        raise NameTaken(f"Another request to keep {kept.written}@{branch} on {place.name} is in progress.") from error
    carry_out(deps, now)
    with deps.db.read() as tx:
        found = policies.find(tx, place.id, kept.id, branch)
    if found is None:
        raise access.not_found("policy", f"{kept.written}@{branch}")
    return found


def unkeep(deps: Deps, actor: Actor, policy_id: str) -> None:
    """From now on the branch's commits there age like others, from now."""
    now = deps.clock.now()
    with deps.db.write() as tx:
        found = policies.get(tx, policy_id)
        if found is None or not access.sees(actor, found.project_id):
            raise access.not_found("policy", policy_id)
        require_member(actor, found.project_id, found.project)
        policies.delete(tx, policy_id)
        there = caches.find(tx, found.policy.volume_id, found.head) if found.head else None
        caches.touch(tx, [there.cached.id] if there else [], now)
        audit.record(
            tx, now=now, actor=actor, action="cache.unkeep", subject=found.written, project_id=found.project_id,
            details={"volume": found.volume},
        )  # fmt: skip
    if there is not None:
        announce(deps, [there], "changed")


def list_visible(
    deps: Deps, actor: Actor, *, volume: str | None, dataset: str | None, project: str | None, limit: int,
    cursor: str | None,
) -> Listing[PolicyView]:  # fmt: skip
    with deps.db.read() as tx:
        among = access.visible_projects(actor)
        if project is not None:
            among = {access.find_project(tx, actor, project, Role.VIEWER).id}
        dataset_id = datasets.find_written(tx, actor, dataset, project=project)[0].id if dataset else None
        volume_id = find_volume(tx, volume).id if volume else None
        found = policies.page(
            tx, among=among, limit=limit + 1, after=text_of(cursor), volume_id=volume_id, dataset_id=dataset_id
        )
    return page_of(found, limit, key=lambda item: item.policy.id)


def carry_out(deps: Deps, now: datetime) -> int:
    """Ask for the newest commit of every kept branch that is not there; how many were begun.

    What is refused says why, and is asked for again later. The commit before it ages out from here on.
    """
    with deps.db.read() as tx:
        due = [view for view in policies.page(tx, among=None) if _is_due(view, now)]
    begun = 0
    for view in due:
        assert view.head is not None
        differences.prepare(deps, [view.head])
        try:
            begun += _carry_out(deps, view, view.head, now)
        except (DoesNotFit, VolumeProblem, NotReady) as error:
            _note(deps, view, view.head, error, now)
    return begun


def _carry_out(deps: Deps, view: PolicyView, head: str, now: datetime) -> bool:
    policy = view.policy
    with deps.db.write() as tx:
        volume = volumes.lock(tx, policy.volume_id)
        size = caches.size_of(tx, head)
        if volume is None or size is None or policies.get(tx, policy.id) is None:
            return False
        _note_tried(tx, policy, head, now)  # before room is looked for: the commit before may make it
        begun = begin_fill(tx, volume, size, requested_by=BY.format(policy.created_by)[:63], now=now, ahead=True)
        if begun.started:
            count_miss(tx, begun.cached.cached, now)
    if begun.started:
        announce(deps, [begun.cached, *begun.evicting], "changed")
        logger.info("policy_fills %s volume=%s commit=%s", view.written, view.volume, head[:8])
    return begun.started


def _note(deps: Deps, view: PolicyView, head: str, error: MillError, now: datetime) -> None:
    logger.info("policy_refused %s volume=%s reason=%s", view.written, view.volume, error.message)
    with deps.db.write() as tx:
        # Others' commits may be in the way: their names stay out of what members of this project read.
        problem = error.message.partition(" Blocked by: ")[0]
        _note_tried(tx, view.policy, head, now, problem)
        # Told once of a commit, however often it is asked for; what waits for something needs nobody.
        is_new = view.policy.problem is None or view.policy.commit_id != head
        if is_new and not isinstance(error, NotReady):
            notice = of_refusal(
                project=view.project, project_id=view.project_id, dataset=view.dataset, commit_id=head,
                volume=view.volume, reason=problem, owner=view.policy.created_by, now=now,
            )  # fmt: skip
            notices.insert(tx, notice)


def _note_tried(tx: Connection, policy: CachePolicy, head: str, now: datetime, problem: str | None = None) -> None:
    """From here on this commit is kept, and the one before it ages."""
    if policy.commit_id not in (None, head):
        before = caches.find(tx, policy.volume_id, policy.commit_id or "")
        caches.touch(tx, [before.cached.id] if before else [], now)
    policies.note(tx, policy.id, commit_id=head, problem=problem, now=now)


def _is_there(view: PolicyView) -> bool:
    return view.state in (CachedState.READY.value, CachedState.FILLING.value)


def _is_due(view: PolicyView, now: datetime) -> bool:
    if view.head is None or _is_there(view):
        return view.head is not None and view.policy.commit_id != view.head
    is_new = view.policy.commit_id != view.head
    return is_new or view.policy.tried_at is None or now - view.policy.tried_at >= RETRY


def problem_of(view: PolicyView) -> str | None:
    """Why the newest commit of the branch is not cached there; None if it is, or is on its way."""
    if view.head is None:
        return f"Branch {view.policy.branch} no longer exists. A new branch of that name would be kept again."
    # Somebody else may have asked for it since it was refused.
    return None if _is_there(view) else view.policy.problem
