"""Why one pending job waits: the rule, who stands in the way, when it may start. Made only when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.decide.scheduling import reservation, rules, waits
from millpond.decide.scheduling.accounts import Account, Line
from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.planner import Planner
from millpond.decide.scheduling.pool import Pool
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import WHOLE, Pending, Running, Size, Snapshot
from millpond.model.quantity import format_count, format_gpus

MAX_BLOCKERS = 10


@dataclass(frozen=True, slots=True)
class Blocker:
    """A running job that holds what the pending one needs."""

    job: str
    project: str
    gpus: int
    over_quota: bool
    ends: float | None


@dataclass(frozen=True, slots=True)
class Explanation:
    rule: str
    reasons: tuple[str, ...]
    blockers: tuple[Blocker, ...] = ()
    earliest_start: float | None = None
    nominated_on: tuple[str, ...] = ()


def explain(snapshot: Snapshot, plan: Plan, job_id: str) -> Explanation:
    """Why a job that the plan leaves pending waits, or under which rule it starts. KeyError for an unknown job."""
    wanted = next((one for one in snapshot.pending if one.job.id == job_id), None)
    if wanted is None:
        return _nominated(snapshot, job_id)
    start = next((one for one in plan.starts if one.job == job_id), None)
    if start is not None:
        nodes = tuple(dict.fromkeys(seat.node for seat in start.seats))
        return Explanation(start.rule, (f"It starts on {', '.join(nodes)} now.",), nominated_on=nodes)
    if wanted.held is not None:
        return Explanation(wanted.held, ())
    planner = Planner(snapshot)
    planner.plan(snapshot.now)
    pool = next((pool for pool in planner.pools if job_id in pool.waiting), None)
    if pool is None:
        return _fits_nowhere(snapshot, wanted)
    return _explain_in(pool, wanted)


def _nominated(snapshot: Snapshot, job_id: str) -> Explanation:
    running = next((one for one in snapshot.running if one.job.id == job_id and one.nominated), None)
    if running is None:
        raise KeyError(job_id)
    nodes = tuple(dict.fromkeys(seat.node for seat in running.seats))
    where = ", ".join(nodes)
    words = f"It starts on {where} when the jobs preempted for it have ended."
    return Explanation("nominated", (words,), nominated_on=nodes)


def _fits_nowhere(snapshot: Snapshot, wanted: Pending) -> Explanation:
    """Told apart: too large for every node, kept away by labels, or the nodes that could are not there."""
    size = wanted.job.size
    rooms = [Room(node, 0) for node in snapshot.nodes]
    large = [room for room in rooms if room.fits_empty(size)]
    if not large:
        return Explanation("no-fit", (f"No node has {_asked(wanted)}.",))
    suiting = [room for room in large if wanted.requires <= room.node.offers]
    if not suiting:
        missing = ", ".join(sorted(wanted.requires))
        return Explanation("affinity", (f"No node large enough offers {missing}.",))
    away = sorted(room.node.id for room in suiting if not room.node.open)
    if away:
        words = f"The nodes that could run it take no jobs now: {', '.join(away[:MAX_BLOCKERS])}."
        return Explanation("away", (words,))
    if size.processes:
        return Explanation("no-fit", (f"No compute has room for {_asked(wanted)} at once.",))
    return Explanation("no-fit", ("No place it may run in has a node that is large enough.",))


def _explain_in(pool: Pool, wanted: Pending) -> Explanation:
    """After the plan was made: who starts in it is in the way already."""
    account, (_, line) = pool.accounts[wanted.job.project], pool.waiting[wanted.job.id]
    rooms = [room for room in pool.fleet.open_rooms(None) if wanted.requires <= room.node.offers]
    free = sum(sum(room.free) for room in pool.fleet.open_rooms(None))
    rule = waits.waiting_rule(pool, account, line, free)
    if rule == rules.BACKOFF:
        return Explanation(rule, (_numbers(account, wanted, rule),), earliest_start=line.over_quota_from)
    if rule == rules.JOBS:
        own = [one for one, _ in account.running]
        return Explanation(rule, (_all_jobs(account),), _holders(pool, own))
    if rule in (rules.LIMIT, rules.NONPREEMPTIBLE_QUOTA):
        fixed = rule == rules.NONPREEMPTIBLE_QUOTA
        own = [one for one, _ in account.running if not (fixed and one.job.preemptible)]
        return Explanation(rule, (_numbers(account, wanted, rule),), _holders(pool, own))
    blockers = _blockers(pool, rooms, wanted)
    earliest = earliest_start(pool, wanted.job.size, wanted.requires)
    if rule == waits.RESERVATION:
        return Explanation(rule, _reserved(rooms, wanted), blockers, earliest)
    if rule == waits.FRAGMENTED:
        words = f"{format_gpus(free)} GPUs are free, but not together on one node: it needs {_asked(wanted)}."
        return Explanation(rule, (words,), blockers, earliest)
    return Explanation(rule, _order(account, line, wanted, free), blockers, earliest)


def _reserved(rooms: list[Room], wanted: Pending) -> tuple[str, ...]:
    found = (room.reservation for room in rooms if room.fits(wanted.job.size) and room.reservation)
    job = next((one.job for one in found if one.job != wanted.job.id), None)
    words = f"The nodes with room for it are reserved for {f'job {job}' if job else 'another job'}."
    return words, "With a time limit that ends before that job is expected to start, it could start there now."


def _all_jobs(account: Account) -> str:
    count = len(account.running) + account.jobs_elsewhere
    return (
        f"{account.name} runs {count} of at most {format_count(account.project.jobs or 0, 'job')}. It starts when "
        f"one of them has ended, or an administrator raises the quota: mill project quota {account.name} --jobs N"
    )


def _numbers(account: Account, wanted: Pending, obstacle: str) -> str:
    project, size = account.name, format_gpus(wanted.job.size.gpus)
    held = f"{project} holds {format_gpus(account.allocated + account.elsewhere)}"
    if obstacle == rules.NONPREEMPTIBLE_QUOTA:
        fixed = format_gpus(account.fixed)
        return (
            f"Jobs that are never preempted stay within the quota of {format_gpus(account.quota)} GPUs. {project} "
            f"holds {fixed} with such jobs; this one needs {size}. Submit it with --preemptible to use more."
        )
    if obstacle == rules.BACKOFF:
        return "It was preempted often within the last hour: it waits before it goes over quota again."
    if account.project.limit is not None and rules.exceeds_limit(account, wanted.job.size.gpus):
        limit = format_gpus(account.project.limit)
        return (
            f"{held} of at most {limit} GPUs, and this job needs {size}. It starts when jobs of {project} have ended, "
            "or an administrator raises the limit."
        )
    return (
        f"{held}, its quota is {format_gpus(account.quota)}, and it may not go over quota. It starts when jobs of "
        f"{project} have ended, or an administrator raises the quota or allows over-quota."
    )


def _order(account: Account, line: Line, wanted: Pending, free: int) -> tuple[str, ...]:
    share = float(account.share) / WHOLE
    own = (
        f"{format_gpus(free)} GPUs are free, it needs {_asked(wanted)}. {account.name} holds "
        f"{format_gpus(account.allocated)} GPUs; its quota is {format_gpus(account.quota)}, its share now {share:.3g}."
    )
    if rules.is_claim(account, line):
        return own, "It is within quota and starts before all that are not; what runs now is within quota, too."
    if rules.stays_within_share(account, line):
        return own, "It is within its share; no other project is so far above its own that it could give that up."
    return own, "It would go over its project's share: claims and projects below their share go first."


def _blockers(pool: Pool, rooms: list[Room], wanted: Pending) -> tuple[Blocker, ...]:
    """Those that hold GPUs where it could run."""
    held = {job_id for room in rooms if room.fits_empty(wanted.job.size) for job_id in room.holds}
    return _holders(pool, [pool.running[job_id] for job_id in held])


def _holders(pool: Pool, running: list[Running]) -> tuple[Blocker, ...]:
    """Over-quota ones first, then those that end soonest."""
    found = [
        Blocker(one.job.id, account.name, one.job.size.gpus, one.job.id in account.over, _end(one))
        for one in running
        if one.job.size.gpus
        for account in (pool.accounts[one.job.project],)
    ]
    found.sort(key=lambda one: (not one.over_quota, one.ends is None, one.ends or 0.0, one.job))
    return tuple(found[:MAX_BLOCKERS])


def earliest_start(pool: Pool, size: Size, requires: frozenset[str]) -> float | None:
    """The latest moment at which time limits alone make room for all processes; None if they do not."""
    rooms = [room for room in pool.fleet.open_rooms(None) if requires <= room.node.offers and room.fits_empty(size)]
    starts = [reservation.expected_start(room, size, pool.running, pool.now) for room in rooms]
    known = sorted(start for start in starts if start is not None)
    return known[size.seats - 1] if len(known) >= size.seats else None


def _end(running: Running) -> float | None:
    return None if running.nominated else running.ends


def _asked(wanted: Pending) -> str:
    size = wanted.job.size
    parts = [f"{format_gpus(size.gpu)} GPUs"] if size.gpu else []
    parts += [f"{size.cpu} CPUs"] if size.cpu else []
    parts += [f"{size.memory / 1e9:.3g} GB of memory"] if size.memory else []
    each = " and ".join(parts) or "room"
    return f"{size.processes} × {each}" if size.processes else each
