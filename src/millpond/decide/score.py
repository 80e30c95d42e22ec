"""Where a job should run: for every template it may use, at every place, what waiting, filling and money cost.

All of it is one currency, the one of prices: an hour of waiting and an hour of filling are worth what the weights say.
The job goes to the place with the least total. That a place is full is no reason to wait for ever: a wait nobody can
foresee counts as the patience that is left, and rules the place out once that is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

LOCALITY, TEMPLATE, DATA_SPACE = "locality", "template", "data-space"

# Taken where no fill was measured and no link says what it carries.
ASSUMED_BYTES_PER_SECOND = 100e6
# Of a job without a time limit.
ASSUMED_RUN_SECONDS = 3600.0
_GB = 10**9
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class ScorePolicy:
    """What an administrator sets (`mill up`)."""

    # What an hour of waiting for room, and of waiting for data, is worth.
    wait_price: float = 1.0
    fill_price: float = 1.0
    # How long a job waits for room where running costs less.
    patience: float = 300.0
    # A job takes GPUs when its data is expected within this time.
    ready_seconds: float = 10.0


class Fill(NamedTuple):
    """What is still to be fetched to a place, how long that takes and what it costs."""

    bytes: int = 0
    seconds: float = 0.0
    price: float = 0.0

    def __add__(self, other: object) -> Fill:
        if not isinstance(other, Fill):
            return NotImplemented
        return Fill(self.bytes + other.bytes, self.seconds + other.seconds, self.price + other.price)


NO_FILL = Fill()


def fill_of(missing_bytes: int, bytes_per_second: float | None, price_per_gb: float = 0.0) -> Fill:
    """Of bytes that nothing has begun to fetch."""
    rate = bytes_per_second or ASSUMED_BYTES_PER_SECOND
    return Fill(missing_bytes, missing_bytes / rate, price_per_gb * missing_bytes / _GB)


def cheapest(ways: Iterable[Fill], fill_price: float) -> Fill:
    """The way that costs least in time and money; of equal ones the first."""
    return min(ways, key=lambda way: fill_cost(way, fill_price))


def fill_cost(fill: Fill, fill_price: float) -> float:
    """In time and money."""
    return fill_price * fill.seconds / _HOUR + fill.price


class PlaceOffer(NamedTuple):
    """One place, on one template."""

    zone: str
    # Of the template in its queue, from 0.
    order: int = 0
    template: str | None = None
    # Seconds until there is room: 0 now, None if nobody can tell.
    wait: float | None = 0.0
    fill: Fill = NO_FILL
    # What running there costs.
    compute_price: float = 0.0
    # Why it cannot be used now, whatever is free; its rule first.
    blocked: tuple[str, str] | None = None
    # Seconds that the queue of the engine adds once the job was given to it.
    queue: float = 0.0


@dataclass(frozen=True, slots=True)
class ScoredPlace:
    """An offer with its score: money."""

    offer: PlaceOffer
    wait_cost: float
    fill_cost: float
    # Seconds until the queue lets the job use the template; 0 if it may.
    opens_in: float = 0.0

    @property
    def static(self) -> float:
        """Without the wait: what it costs to run there once there is room."""
        return self.fill_cost + self.offer.fill.price + self.offer.compute_price

    @property
    def total(self) -> float:
        return self.wait_cost + self.static

    @property
    def is_open(self) -> bool:
        return self.opens_in <= 0 and self.offer.blocked is None


@dataclass(frozen=True, slots=True)
class Scores:
    """All offers, the best first; where the job's data goes; where it may start, for each template in turn."""

    rows: tuple[ScoredPlace, ...]
    target: ScoredPlace | None
    starts: tuple[tuple[ScoredPlace, ...], ...]
    # What keeps it from a place with room; None if nothing does.
    rule: str | None = None


def score(
    offers: Iterable[PlaceOffer], policy: ScorePolicy, *, waited: float, opens: Sequence[float] = (0.0,)
) -> Scores:
    """`opens`: for each template, after how many seconds of waiting it may be used. `waited`: so long the job waits."""
    left = [_patience_left(order, policy, waited, opens) for order in range(len(opens))]
    rows = tuple(sorted((_row(offer, policy, waited, opens, left[offer.order]) for offer in offers), key=_rank))
    usable = [row for row in rows if row.is_open]
    starts = tuple(
        _starts(usable, order, policy, patient=waited - opened < policy.patience)
        for order, opened in enumerate(opens)
        if opened <= waited
    )
    return Scores(rows, usable[0] if usable else None, starts, _rule(rows, starts, is_early=opens[-1] > waited))


def _patience_left(order: int, policy: ScorePolicy, waited: float, opens: Sequence[float]) -> float:
    """For room on a template: until the next one of its queue may be used; on the last one, as the policy says."""
    until = opens[order + 1] if order + 1 < len(opens) else opens[order] + policy.patience
    return max(0.0, until - waited)


def _row(offer: PlaceOffer, policy: ScorePolicy, waited: float, opens: Sequence[float], left: float) -> ScoredPlace:
    wait = (offer.wait if offer.wait is not None else left or inf) + offer.queue
    return ScoredPlace(
        offer,
        wait_cost=policy.wait_price * wait / _HOUR if wait else 0.0,
        fill_cost=policy.fill_price * offer.fill.seconds / _HOUR,
        opens_in=max(0.0, opens[offer.order] - waited),
    )


def _rank(row: ScoredPlace) -> tuple[bool, bool, float, float, int, str]:
    offer = row.offer
    return (offer.blocked is not None, row.opens_in > 0, row.total, row.static, offer.order, offer.zone)


def _starts(
    usable: Sequence[ScoredPlace], order: int, policy: ScorePolicy, *, patient: bool
) -> tuple[ScoredPlace, ...]:
    """Where the job may start on one template: its data is there, and nowhere is it expected to cost much less.

    A difference of less than a data lead keeps no job waiting, and when the patience is over none does.
    """
    own = [row for row in usable if row.offer.order == order]
    ready = [row for row in own if row.offer.fill.seconds <= policy.ready_seconds]
    best = min((row.total for row in own), default=inf) + policy.fill_price * policy.ready_seconds / _HOUR
    return tuple(row for row in ready if row.static <= best or not patient)


def _rule(
    rows: Sequence[ScoredPlace], starts: Sequence[Sequence[ScoredPlace]], *, is_early: bool
) -> str | None:  # fmt: skip
    """Why the job does not start where there is room. `is_early`: the turn of some template has not come yet."""
    allowed = {(row.offer.order, row.offer.zone) for one in starts for row in one}
    kept = [row for row in rows if row.offer.wait == 0 and (row.offer.order, row.offer.zone) not in allowed]
    if any(row.is_open for row in kept):
        return LOCALITY
    if is_early:
        return TEMPLATE
    if any(starts):
        return None
    blocked = [row.offer.blocked[0] for row in rows if row.offer.blocked is not None]
    return min(blocked) if blocked else LOCALITY if rows else None


def run_price(price_per_hour: float, time_limit: float | None) -> float:
    """Of a job: for as long as it may run, or an hour."""
    return price_per_hour * (time_limit or ASSUMED_RUN_SECONDS) / _HOUR
