"""Eviction as tables: what a volume holds → what goes now, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from millpond.decide.eviction import VolumeLimits, plan_evictions
from millpond.decide.forecast import forecast
from millpond.decide.stock import Stock, StockedCommit
from millpond.model.cached_state import CachedState
from millpond.model.quantity import DAY
from millpond.model.volume import Cause, Share
from millpond.testing.clock import NOON

LIMITS = VolumeLimits(usable_bytes=100, idle_seconds=DAY, high_percent=90, low_percent=50)
IDLE = "unused for 1 d 1 h; the idle time is 1 d"
FULL = "the volume is 95 % full, above its high watermark of 90 %"


def held(name: str, size: int, *, hours: float = 1, **more: object) -> StockedCommit:
    row = StockedCommit(name, name, CachedState.READY, 1, size, size, NOON, NOON - timedelta(hours=hours))
    return replace(row, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    what: str
    there: tuple[StockedCommit, ...]
    gone: tuple[tuple[str, str], ...] = ()
    limits: VolumeLimits = LIMITS


CASES = [
    Case("nothing goes from an empty volume", ()),
    Case("what was used today stays", (held("a", 10, hours=23),)),
    Case("what is idle goes", (held("a", 10, hours=25), held("b", 10)), (("a", IDLE),)),
    Case("what is leased stays, however idle", (held("a", 10, hours=99, leased_by=("job x/train",)),)),
    Case("what is pinned stays, however idle", (held("a", 10, hours=99, pinned=True),)),
    Case("what is being filled stays", (held("a", 10, hours=99, state=CachedState.FILLING),)),
    Case("what is leaving is not told to leave again", (held("a", 10, hours=99, state=CachedState.EVICTING),)),
    Case(
        "a commit may have an idle time of its own",
        (held("short", 10, hours=2, idle_seconds=3600), held("long", 10, hours=99, idle_seconds=10**9)),
        (("short", "unused for 2 h; the idle time is 1 h"),),
    ),
    Case("up to the high watermark nothing goes", (held("a", 45, hours=2), held("b", 45))),
    Case(
        "above it the least recently used go, down to the low one",
        (held("a", 20, hours=4), held("b", 30, hours=3), held("c", 25, hours=2), held("d", 20)),
        (("a", FULL), ("b", FULL)),
    ),
    Case("the newest stays: it was just asked for", (held("a", 95),)),
    Case(
        "unless something was asked for since, and needs its room",
        (held("a", 60), held("b", 60, state=CachedState.FILLING)),
        (("a", "the volume is 120 % full, above its high watermark of 90 %"),),
    ),
    Case(
        "leased and pinned commits are passed over",
        (
            held("a", 40, hours=9, leased_by=("m",)),
            held("b", 35, hours=8, pinned=True),
            held("c", 10, hours=2),
            held("d", 10),
        ),
        (("c", FULL),),
    ),
    Case(
        "nothing is spared for having been asked for before what is in use",
        (held("a", 45, hours=3), held("b", 50, leased_by=("job x/train",))),
        (("a", FULL),),
    ),
    Case(
        "what is idle makes the room, nothing else must go",
        (held("a", 50, hours=25), held("b", 45)),
        (("a", IDLE),),
    ),
    Case(
        "fills count as taken",
        (held("a", 45, hours=3), held("b", 50, state=CachedState.FILLING), held("c", 0)),
        (("a", FULL),),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_eviction(case: Case) -> None:
    plan = plan_evictions(case.limits, Stock(case.there), NOON)
    assert tuple((evict.id, evict.reason) for evict in plan) == case.gone
    assert plan == plan_evictions(case.limits, Stock(tuple(reversed(case.there))), NOON)


def test_the_newest_of_a_kept_branch_stays() -> None:
    stock = Stock([held("a", 10, hours=99, kept_for="main"), held("b", 10, hours=99)])
    assert [evict.id for evict in plan_evictions(LIMITS, stock, NOON)] == ["b"]


def test_of_equals_the_one_goes_that_is_easiest_to_bring_back() -> None:
    rows = [held("a", 40, cost=40.0), held("b", 40, cost=30.0), held("c", 15, hours=0)]
    plan = plan_evictions(LIMITS, Stock(rows), NOON)
    assert [evict.id for evict in plan] == ["b", "a"]
    later = [held("a", 40, cost=40.0, hours=2), *rows[1:]]
    assert next(iter(plan_evictions(LIMITS, Stock(later), NOON))).id == "a", "cost only breaks ties"


def test_what_a_project_has_above_its_limit_goes() -> None:
    rows = [held("a", 20, hours=3, project_id="p"), held("b", 20, hours=2, project_id="p"), held("c", 20, hours=9)]
    (evict,) = plan_evictions(LIMITS, Stock(rows, limits={"p": 25}), NOON)
    assert (evict.id, evict.cause) == ("a", Cause.LIMIT)
    assert evict.reason == "its project uses 40 B, above its limit of 25 B"


def test_files_may_fill_a_volume_before_bytes_do() -> None:
    limits = replace(LIMITS, usable_inodes=100)
    rows = [held("a", 1, hours=3, reserved_inodes=60), held("b", 1, reserved_inodes=35)]
    (evict,) = plan_evictions(limits, Stock(rows), NOON)
    assert evict.reason == "the volume is 95 % full of files, above its high watermark of 90 %"


def test_what_shares_everything_with_others_is_not_evicted_in_vain() -> None:
    rows = [held("a", 60, hours=9), held("b", 60, hours=3, pinned=True), held("c", 35, hours=2), held("d", 0)]
    measured = [Share(frozenset("ab"), 60), Share(frozenset("c"), 35)]
    assert [evict.id for evict in plan_evictions(LIMITS, Stock(rows, measured), NOON)] == ["c"]


def test_the_forecast_says_what_goes_when_and_what_stays() -> None:
    rows = [
        held("idle", 10, hours=25),
        held("young", 20, hours=4),
        held("short", 20, hours=1, idle_seconds=7200),
        held("used", 5, leased_by=("job p/train",)),
        held("coming", 5, state=CachedState.FILLING),
    ]
    told = forecast(LIMITS, Stock(rows), NOON)
    assert [(step.id, step.at, step.cause, step.bytes) for step in told.goes] == [
        ("idle", NOON, Cause.IDLE, 10),
        ("short", NOON + timedelta(hours=1), Cause.IDLE, 20),
        ("young", NOON + timedelta(hours=20), Cause.IDLE, 20),
    ]
    assert [(step.id, step.reason) for step in told.stays] == [
        ("coming", "being filled"),
        ("used", "in use by job p/train"),
    ]
