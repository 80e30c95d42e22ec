"""Eviction as tables: what a volume holds → what goes now, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from millpond.decide.eviction import Limits, plan_evictions
from millpond.decide.stock import Held, Stock
from millpond.model.volume import DAY, CachedState
from millpond.testing.clock import NOON

LIMITS = Limits(usable_bytes=100, idle_seconds=DAY, high_percent=90, low_percent=50)
IDLE = "unused for 1 d 1 h; the idle time is 1 d"
FULL = "the volume is 95 % full, above its high watermark of 90 %"


def held(name: str, size: int, *, hours: float = 1, **more: object) -> Held:
    row = Held(name, name, CachedState.READY, 1, size, size, NOON, NOON - timedelta(hours=hours))
    return replace(row, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    what: str
    there: tuple[Held, ...]
    gone: tuple[tuple[str, str], ...] = ()
    limits: Limits = LIMITS


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
