"""Which rule lets a pending job start, or holds it back: the numbers of a project, before any node is looked at."""

from __future__ import annotations

from millpond.decide.scheduling.accounts import Account, Line
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import Pending

# Why a job started.
FREE, CLAIM, REBALANCE, PRIORITY = "free", "claim", "rebalance", "priority"
# Why a job waits, as far as a project's numbers say.
LIMIT, NONPREEMPTIBLE_QUOTA, BACKOFF, JOBS = "limit", "nonpreemptible-quota", "backoff", "jobs"


def is_claim(account: Account, line: Line) -> bool:
    """Within the quota with everything the project holds already."""
    return account.allocated + line.gpus <= account.quota


def stays_within_share(account: Account, line: Line) -> bool:
    return account.allocated + line.gpus <= account.share_floor


def obstacle(account: Account, line: Line, now: float, *, giving: int = 0) -> str | None:
    """The rule that keeps a job of this kind from starting whatever is free; None if it may.

    `giving` is what its project gives up for it.
    """
    if account.has_all_jobs(giving=1 if giving else 0):
        return JOBS
    gpus = line.gpus - giving
    if line.gpus and exceeds_limit(account, gpus):
        return LIMIT
    if line.gpus and not line.preemptible and account.fixed + line.gpus > account.quota:
        return NONPREEMPTIBLE_QUOTA
    if account.allocated + gpus > account.quota:
        if not account.project.over_quota:
            return LIMIT
        if line.over_quota_from > now:
            return BACKOFF
    return None


def exceeds_limit(account: Account, gpus: int) -> bool:
    """True if so much more would pass the project's limit."""
    limit = account.project.limit
    return limit is not None and account.allocated + account.elsewhere + gpus > limit


def may_hold(account: Account, gpus: int) -> bool:
    """True if the project's limits allow so much more."""
    if exceeds_limit(account, gpus) or account.has_all_jobs():
        return False
    return account.project.over_quota or account.allocated + gpus <= account.quota


def may_use(room: Room, wanted: Pending, now: float, *, claim: bool) -> bool:
    """True if reservations let the job start on this node.

    Nodes kept for a claim take jobs that end in time, and preemptible ones beyond quota: the claim preempts those.
    Nodes kept for a job beyond quota take claims, and jobs that end in time. None is kept from jobs of its own project
    that have a higher priority.
    """
    reservation, kept_for = room.reservation, room.reserved_for
    if reservation is None or kept_for is None or reservation.job == wanted.job.id:
        return True
    if kept_for.project == wanted.job.project and wanted.job.priority > kept_for.priority:
        return True
    limit = wanted.job.time_limit
    if reservation.expected is not None and limit is not None and now + limit <= reservation.expected:
        return True
    if reservation.claim:
        return not claim and wanted.job.preemptible
    return claim
