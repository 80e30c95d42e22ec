"""Why one pending job waits: the rule, who stands in the way, when it may start. Made only when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.decide.scheduling import reservation, rules
from millpond.decide.scheduling.accounts import Account, Line
from millpond.decide.scheduling.plan import Plan
from millpond.decide.scheduling.planner import Planner
from millpond.decide.scheduling.pool import Pool
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.snapshot import WHOLE, Pending, Running, Size, Snapshot
from millpond.model.quantity import format_gpus

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
    pool = next((pool for pool in Planner(snapshot).pools if job_id in pool.waiting), None)
    if pool is None:
        return _fits_nowhere(snapshot, wanted)
    return _explain_in(pool, snapshot, plan, wanted)


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


def _explain_in(pool: Pool, snapshot: Snapshot, plan: Plan, wanted: Pending) -> Explanation:
    pool.keep(plan.reservations)
    pool.begin(snapshot.now)
    pool.refresh_reservations()
    account, (_, line) = pool.accounts[wanted.job.project], pool.waiting[wanted.job.id]
    obstacle = rules.obstacle(account, line, snapshot.now)
    if obstacle is not None:
        return Explanation(obstacle, (_numbers(account, wanted, obstacle),))
    rooms = [room for room in pool.fleet.open_rooms(None) if wanted.requires <= room.node.offers]
    blockers = _blockers(pool, rooms, wanted)
    earliest = earliest_start(pool, wanted.job.size, wanted.requires)
    reserved = next((room.reservation for room in rooms if room.fits(wanted.job.size) and room.reservation), None)
    if reserved is not None and reserved.job != wanted.job.id:
        return Explanation(
            "reservation", (f"The nodes with room for it are reserved for job {reserved.job}.",), blockers, earliest
        )
    free = sum(sum(room.free) for room in rooms)
    if free >= wanted.job.size.gpus > 0:
        words = f"{format_gpus(free)} GPUs are free, but not together on one node: it needs {_asked(wanted)}."
        return Explanation("fragmented", (words,), blockers, earliest)
    return Explanation("order", _order(account, line, wanted, free), blockers, earliest)


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
        return f"{held} of at most {limit} GPUs, and this job needs {size}."
    return f"{held}, its quota is {format_gpus(account.quota)}, and it may not go over quota."


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
    """Those that hold GPUs where it could run, over-quota ones first, then those that end soonest."""
    held = {job_id for room in rooms if room.fits_empty(wanted.job.size) for job_id in room.holds}
    found = [
        Blocker(job_id, running.job.project, running.job.size.gpus, job_id in account.over, _end(running))
        for job_id in held
        if (running := pool.running[job_id]).job.size.gpus
        for account in (pool.accounts[running.job.project],)
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
