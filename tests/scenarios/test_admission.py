"""Admission as tables: what a volume holds, what is asked for → what is evicted, or what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from millpond.decide.admission import Admit, Asked, Refuse, Space, Usable, admit, fills_to_start, usable_room
from millpond.decide.stock import Held, Room, Stock, used_room
from millpond.model.volume import CachedState
from millpond.testing.clock import NOON

READY, FILLING, EVICTING, FAILED = (
    CachedState.READY,
    CachedState.FILLING,
    CachedState.EVICTING,
    CachedState.FAILED,
)
SPACE = Space("nfs", capacity_bytes=110, reserve_bytes=10)


def held(name: str, size: int, *, hours: float = 1, state: CachedState = READY, **more: object) -> Held:
    """A cached commit last used so many hours ago."""
    row = Held(name, name, state, 1, size, 0, NOON, NOON - timedelta(hours=hours))
    return replace(row, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    what: str
    there: tuple[Held, ...]
    needed: int
    evicted: tuple[str, ...] | None  # None: refused
    blockers: tuple[str, ...] = ()
    space: Space = SPACE


CASES = [
    Case("an empty volume takes what fits", (), 100, ()),
    Case("the reserve is never given away", (), 101, None),
    Case("what is free is used before anything goes", (held("a", 40),), 60, ()),
    Case("the least recently used goes first", (held("new", 50, hours=1), held("old", 50, hours=2)), 50, ("old",)),
    Case("no more goes than must", (held("a", 30, hours=3), held("b", 30, hours=2), held("c", 40)), 50, ("a", "b")),
    Case("ties are broken by id", (held("b", 50), held("a", 50)), 50, ("a",)),
    Case(
        "leased commits stay",
        (held("a", 60, leased_by=("job x/train",)), held("b", 40)),
        50,
        None,
        ("a (60 B) is in use by job x/train",),
    ),
    Case("pinned commits stay", (held("a", 60, pinned=True),), 50, None, ("a (60 B) is pinned",)),
    Case("fills stay", (held("a", 60, state=FILLING),), 50, None, ("a (60 B) is being filled",)),
    Case("what is leaving counts as gone", (held("a", 60, state=EVICTING),), 100, ()),
    Case("what failed takes nothing", (held("a", 60, state=FAILED),), 100, ()),
    Case("a leased one is passed over", (held("a", 50, hours=9, leased_by=("m",)), held("b", 50)), 50, ("b",)),
    Case(
        "other files on the disk count",
        (held("a", 40),),
        30,
        ("a",),
        space=replace(SPACE, disk_free_bytes=20),
    ),
    Case("a disk filled by others refuses", (), 30, None, space=replace(SPACE, disk_free_bytes=35)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_admission(case: Case) -> None:
    answer = admit(case.space, Stock(case.there), Asked("x", Room(case.needed)))
    if case.evicted is None:
        assert isinstance(answer, Refuse)
        assert answer.blockers == case.blockers
        assert answer.reasons
    else:
        assert isinstance(answer, Admit)
        assert tuple(evict.id for evict in answer.evict) == case.evicted


def test_a_refusal_says_how_much_could_be_given() -> None:
    answer = admit(SPACE, Stock([held("a", 60, pinned=True), held("b", 10)]), Asked("x", Room(50)))
    assert isinstance(answer, Refuse)
    assert answer.reasons == ("x takes 50 B", "nfs can give 40 B of its 100 B")


def test_a_fill_waits_until_the_bytes_it_was_promised_are_gone() -> None:
    leaving, coming = held("a", 60, state=EVICTING), held("b", 80, state=FILLING, attempt=0)
    assert fills_to_start(Usable(100), Stock([leaving, coming])) == ()
    assert used_room(Stock([leaving, coming])).bytes == 60
    assert fills_to_start(Usable(100), Stock([coming])) == ("b",)


def test_no_fill_overtakes_another() -> None:
    """Or one that has begun would have to stop when the one before it gets its room."""
    leaving = held("x", 50, state=EVICTING)
    first = held("a", 60, state=FILLING, attempt=0, requested_at=NOON - timedelta(seconds=1))
    second = held("b", 20, state=FILLING, attempt=0)
    assert fills_to_start(Usable(100), Stock([second, leaving, first])) == ()
    assert fills_to_start(Usable(100), Stock([second, first])) == ("a", "b")


def test_usable_is_what_the_disk_really_has() -> None:
    assert usable_room(SPACE, Stock([])).bytes == 100
    assert usable_room(replace(SPACE, disk_free_bytes=1000), Stock([])).bytes == 100
    assert usable_room(replace(SPACE, disk_free_bytes=30), Stock([held("a", 40)])).bytes == 60
    assert usable_room(replace(SPACE, disk_free_bytes=0), Stock([])).bytes == 0
