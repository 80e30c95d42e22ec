"""The phases of a plan for one pool, in order, until none of them changes anything any more (docs/design/014, m)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator
from heapq import heapify, heappop, heappush
from math import inf

from millpond.decide.scheduling import rules
from millpond.decide.scheduling.accounts import Account, Admission, Cursor, Line
from millpond.decide.scheduling.fleet import Allowed, Fit, Spread
from millpond.decide.scheduling.pool import Pool
from millpond.decide.scheduling.preemption import Preemptor
from millpond.decide.scheduling.room import Room
from millpond.decide.scheduling.rules import CLAIM, FREE, PRIORITY, REBALANCE
from millpond.decide.scheduling.snapshot import Job

# Every round moves towards what quotas and shares say, so few are needed; this only bounds an error of ours.
MAX_ROUNDS = 20

Offers = Iterator[tuple[Account, Line]]


def make_plan(pool: Pool, *, rebalance: bool) -> None:
    """Start, preempt and reserve what the rules say. Call `pool.begin` before it."""
    for _ in range(MAX_ROUNDS):
        _run_phases(pool, rebalance=rebalance)
        if not pool.reserve():
            return


def _run_phases(pool: Pool, *, rebalance: bool) -> None:
    phases = [_claims, _priorities, _shares if rebalance else _shares_of_free_room, _rest]
    for _ in range(MAX_ROUNDS):
        pool.refresh_reservations()
        before = frozenset(pool.preempted), frozenset(pool.starts)
        for phase in phases:
            phase(pool, Preemptor(pool))
            pool.reprieve()
        if before == (frozenset(pool.preempted), frozenset(pool.starts)):
            return


def _claims(pool: Pool, preemptor: Preemptor) -> None:
    """Jobs within their project's quota, in the order of first submission: free room, else preemption."""

    def admits_size(account: Account, fit: Fit) -> bool:
        within = account.allocated + fit.gpus <= account.quota
        return within and (not pool.fleet.is_full(fit) or preemptor.has_candidates(CLAIM))

    def admits(account: Account, line: Line) -> bool:
        return rules.is_claim(account, line) and rules.obstacle(account, line, pool.now) is None

    for account, line in _first_submitted(pool, Admission(admits_size, admits)):
        spread = _find(pool, line, claim=True, only_cpu=not line.gpus)
        if spread is not None:
            pool.start(line.head, spread, CLAIM)
        elif line.gpus:
            preemptor.take(account, line, CLAIM)


def _priorities(pool: Pool, preemptor: Preemptor) -> None:
    """Within a project, a higher priority takes from preemptible jobs of a lower one."""
    for account in pool.by_usage():
        lowest = min(account.running_priorities, default=inf)
        if max(account.priorities, default=-inf) > lowest:
            _prefer(pool, preemptor, account, lowest)


def _prefer(pool: Pool, preemptor: Preemptor, account: Account, lowest: float) -> None:
    """A job that may start in free room is left to the later phases, which divide it among all projects. What this
    phase freed beyond its need is no such room: it is used by the next job of that project, if any."""
    most = max(account.allocated, account.share_floor)

    def admits(account: Account, line: Line) -> bool:
        giving = preemptor.could_give(account, line.priority)
        return line.priority > lowest and rules.obstacle(account, line, pool.now, giving=giving) is None

    cursor = Cursor(account, Admission(_every_size, admits))
    while (line := cursor.peek()) is not None:
        job = line.head.job
        claim = rules.is_claim(account, line)
        alone = rules.obstacle(account, line, pool.now) is None
        if not alone or _find(pool, line, claim=claim, besides=preemptor.touched) is None:
            spread = _find(pool, line, claim=claim) if alone and account.allocated + line.gpus <= most else None
            if spread is not None:
                pool.start(line.head, spread, FREE)
            else:
                preemptor.take_from_own(account, line, PRIORITY)
        cursor.done(started=job.id in pool.starts)


def _shares(pool: Pool, preemptor: Preemptor) -> None:
    """Jobs that stay within their project's share: free room, else jobs of projects above theirs."""

    def can_take() -> bool:
        return preemptor.has_candidates(REBALANCE)

    for account, line in _in_turn(pool, _within_share(pool, can_take)):
        if not _start_if_free(pool, account, line):
            preemptor.take(account, line, REBALANCE)


def _shares_of_free_room(pool: Pool, _preemptor: Preemptor) -> None:
    for account, line in _in_turn(pool, _within_share(pool, lambda: False)):
        _start_if_free(pool, account, line)


def _within_share(pool: Pool, can_take: Callable[[], bool]) -> Admission:
    def admits_size(account: Account, fit: Fit) -> bool:
        within = 0 < fit.gpus <= account.share_floor - account.allocated
        return within and (not pool.fleet.is_full(fit) or can_take())

    def admits(account: Account, line: Line) -> bool:
        stays = line.gpus > 0 and rules.stays_within_share(account, line)
        return stays and rules.obstacle(account, line, pool.now) is None

    return Admission(admits_size, admits)


def _rest(pool: Pool, _preemptor: Preemptor) -> None:
    """What is still free goes to the project with the least per weight; elastic nodes come last."""
    fleet = pool.fleet

    def fits(account: Account, fit: Fit) -> bool:
        return not fleet.is_full(fit) and not rules.exceeds_limit(account, fit.gpus)

    def admits(account: Account, line: Line) -> bool:
        return rules.obstacle(account, line, pool.now) is None

    for account, line in _in_turn(pool, Admission(fits, admits)):
        _start_if_free(pool, account, line)
    if fleet.has_elastic:
        _elastic(pool)


def _elastic(pool: Pool) -> None:
    def fits(account: Account, fit: Fit) -> bool:
        return not pool.fleet.is_full(fit, elastic=True) and not rules.exceeds_limit(account, fit.gpus)

    for _, line in _in_turn(pool, Admission(fits, lambda _account, _line: True)):
        spread = _find(pool, line, claim=False, elastic=True)
        if spread is not None:
            pool.start(line.head, spread, FREE)


def _every_size(_account: Account, _fit: Fit) -> bool:
    return True


def _start_if_free(pool: Pool, account: Account, line: Line) -> bool:
    spread = _find(pool, line, claim=rules.is_claim(account, line))
    if spread is None:
        return False
    pool.start(line.head, spread, FREE)
    return True


def _find(
    pool: Pool,
    line: Line,
    *,
    claim: bool,
    elastic: bool = False,
    only_cpu: bool = False,
    besides: Container[str] = (),
) -> Spread | None:
    if pool.fleet.is_full(line.shape.fit, elastic=elastic):
        return None
    refusal = None if besides or only_cpu else pool.refusal(line, claim=claim, elastic=elastic)
    if refusal is not None and pool.is_refused(refusal):
        return None
    wanted = line.head

    def allowed(room: Room) -> bool:
        if besides and room.node.id in besides:
            return False
        return room.reservation is None or rules.may_use(room, wanted, pool.now, claim=claim)

    tries = (
        pool.fleet.find(line.shape, one, elastic=elastic, only_cpu=only_cpu)
        for one in _by_crowd(pool, wanted.job, allowed)
    )
    found = next((one for one in tries if one), None)
    if found is None and refusal is not None:
        pool.refuse(refusal)
    return found


def _by_crowd(pool: Pool, job: Job, allowed: Allowed) -> Iterator[Allowed]:
    """Of jobs that are to be apart: first nodes with the fewest others of them, then those with more."""
    if not job.apart:
        yield allowed
        return
    crowd = Counter(
        seat.node
        for one in pool.running.values()
        if one.job.apart == job.apart and one.job.project == job.project
        for seat in one.seats
    )

    def at_most(most: int) -> Allowed:
        return lambda room: crowd[room.node.id] <= most and allowed(room)

    yield from map(at_most, sorted({0, *crowd.values()}))


def _first_submitted(pool: Pool, admission: Admission) -> Offers:
    """Jobs of all projects by first submission; within a project in its own order."""
    cursors = [Cursor(account, admission) for account in pool.accounts.values()]
    heap: list[tuple[float, tuple[int, float, str], int]] = []

    def push(number: int) -> None:
        line = cursors[number].peek()
        if line is not None:
            heappush(heap, (line.head.job.submitted, line.head.job.rank, number))

    for number in range(len(cursors)):
        push(number)
    while heap:
        _, _, number = heappop(heap)
        line = cursors[number].peek()
        if line is not None:
            job = line.head.job
            yield cursors[number].account, line
            cursors[number].done(started=job.id in pool.starts)
            push(number)


def _in_turn(pool: Pool, admission: Admission) -> Offers:
    """The next job of the project with the least per weight, then by priority, first submission and id.

    A project that got something is asked again behind those with less.
    """
    cursors = [Cursor(account, admission) for account in pool.accounts.values()]
    heap: list[tuple[float, tuple[int, float, str], int]] = []
    for number, cursor in enumerate(cursors):
        line = cursor.peek()
        if line is not None:
            heap.append((cursor.account.usage, line.head.job.rank, number))
    heapify(heap)
    while heap:
        _, _, number = heappop(heap)
        cursor = cursors[number]
        while (line := cursor.peek()) is not None:
            usage, job = cursor.account.usage, line.head.job
            yield cursor.account, line
            cursor.done(started=job.id in pool.starts)
            if cursor.account.usage != usage:
                break
        line = cursor.peek()
        if line is not None:
            heappush(heap, (cursor.account.usage, line.head.job.rank, number))
