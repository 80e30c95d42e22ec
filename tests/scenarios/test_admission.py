"""Admission as tables: what a volume holds, what is asked for → what is evicted, or what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from millpond.decide.admission import (
    Admit,
    Asked,
    Refuse,
    Usable,
    VolumeSpace,
    admit,
    fills_to_start,
    foreign_bytes,
    usable_room,
)
from millpond.decide.stock import Room, Stock, StockedCommit, used_room
from millpond.model.cached_state import CachedState
from millpond.model.volume import Share
from millpond.testing.clock import NOON

READY, FILLING, EVICTING, FAILED = (
    CachedState.READY,
    CachedState.FILLING,
    CachedState.EVICTING,
    CachedState.FAILED,
)
SPACE = VolumeSpace("nfs", capacity_bytes=110, reserve_bytes=10)


def held(name: str, size: int, *, hours: float = 1, state: CachedState = READY, **more: object) -> StockedCommit:
    """A cached commit last used so many hours ago."""
    row = StockedCommit(name, name, state, 1, size, 0, NOON, NOON - timedelta(hours=hours))
    return replace(row, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    what: str
    there: tuple[StockedCommit, ...]
    needed: int
    evicted: tuple[str, ...] | None  # None: refused
    blockers: tuple[str, ...] = ()
    space: VolumeSpace = SPACE


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
    Case("what would not fit alone is in nobody's way", (held("a", 60, pinned=True),), 101, None),
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
    assert answer.reasons == ("x takes 50 B", "nfs can free 40 B of its 100 B")


def test_a_refusal_says_what_an_empty_volume_or_a_whole_limit_would_take() -> None:
    there = Stock([replace(held("a", 30, pinned=True), project_id="p")], limits={"p": 40})
    for project, why in (("q", "nfs can hold 100 B in total"), ("p", "its project may use 40 B of nfs in total")):
        answer = admit(SPACE, there, Asked("x", Room(120), project_id=project))
        assert answer == Refuse(("x takes 120 B", why), ())


@pytest.mark.parametrize(("needed", "are_named"), [(20, True), (41, False)])
def test_other_files_are_named_where_it_would_fit_without_them(needed: int, are_named: bool) -> None:
    disk = replace(SPACE, disk_free_bytes=20)
    answer = admit(disk, Stock([held("a", 60, pinned=True)]), Asked("x", Room(needed)))
    assert isinstance(answer, Refuse)
    assert answer.reasons[-1].startswith("nfs can free 10 B of its 70 B")
    assert ("other files fill the disk" in answer.reasons[-1]) == are_named


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


def shared(members: str, size: int, inodes: int = 0) -> Share:
    """What these commits (a letter each) have in common."""
    return Share(frozenset(members), size, inodes)


@dataclass(frozen=True)
class SharedCase:
    what: str
    there: tuple[StockedCommit, ...]
    measured: tuple[Share, ...]
    needed: Room
    evicted: tuple[str, ...] | None
    reason: str = ""
    limits: tuple[tuple[str, int], ...] = ()
    space: VolumeSpace = SPACE
    base: str | None = None


OLD, NEW = held("a", 50, hours=3), held("b", 50, hours=2)
SHARED_CASES = [
    SharedCase("what is shared counts once", (OLD, NEW), (shared("ab", 50),), Room(50), ()),
    SharedCase("both must go before what they share comes back", (OLD, NEW), (shared("ab", 80),), Room(40), ("a", "b")),
    SharedCase(
        "what would give nothing back stays",
        (held("a", 40, hours=9), replace(held("b", 40), pinned=True), held("c", 40, hours=2)),
        (shared("ab", 40), shared("c", 60)),
        Room(50),
        ("c",),
    ),
    SharedCase(
        "shared with what is pinned, it makes no room",
        (held("a", 40), replace(held("b", 40), pinned=True)),
        (shared("ab", 60), shared("a", 10)),
        Room(50),
        None,
        "nfs can free 40 B of its 100 B",
    ),
    SharedCase(
        "a base never goes for what is filled beside it",
        (OLD, NEW),
        (shared("a", 50), shared("b", 50)),
        Room(30),
        ("b",),
        base="a",
    ),
    SharedCase(
        "the base of a fill under way stays",
        (OLD, replace(held("b", 10, state=FILLING), base_id="a")),
        (shared("a", 50),),
        Room(60),
        None,
        "nfs can free 40 B of its 100 B",
    ),
    SharedCase(
        "a base that is leaving gives nothing back that a fill links from it",
        (held("a", 50, state=EVICTING), replace(held("b", 10, state=FILLING), base_id="a")),
        (shared("a", 50),),
        Room(60),
        None,
        "nfs can free 40 B of its 100 B",
    ),
    SharedCase(
        "nor what was linked from it since anybody measured",
        (held("a", 50, state=EVICTING), replace(held("b", 10, pinned=True), base_id="a")),
        (shared("a", 50),),
        Room(60),
        None,
        "nfs can free 40 B of its 100 B",
    ),
    SharedCase(
        "a project keeps to its limit: its own go, the least recently used first",
        (
            replace(held("a", 20, hours=9), project_id="q"),
            replace(held("b", 20, hours=3), project_id="p"),
            replace(held("c", 20, hours=2), project_id="p"),
        ),
        (),
        Room(20),
        ("b",),
        limits=(("p", 45),),
    ),
    SharedCase(
        "a limit refuses although the volume has room",
        (replace(held("b", 20, pinned=True), project_id="p"),),
        (),
        Room(30),
        None,
        "its project may use 45 B of nfs, and 20 B of that cannot be evicted",
        limits=(("p", 45),),
    ),
    SharedCase(
        "inodes count like bytes",
        (held("a", 1, hours=2, reserved_inodes=60),),
        (),
        Room(1, 50),
        ("a",),
        space=replace(SPACE, inodes_total=110, inodes_free=50),
    ),
    SharedCase(
        "inodes run out before bytes do",
        (),
        (),
        Room(1, 101),
        None,
        "it has 101 files and directories, but nfs can hold only 100 more (inodes)",
        space=replace(SPACE, inodes_total=110, inodes_free=110),
    ),
]


@pytest.mark.parametrize("case", SHARED_CASES, ids=lambda case: case.what)
def test_admission_by_shares(case: SharedCase) -> None:
    stock = Stock(case.there, case.measured, dict(case.limits))
    answer = admit(case.space, stock, Asked("x", case.needed, "p", case.base))
    if case.evicted is None:
        assert isinstance(answer, Refuse)
        assert answer.reasons[-1] == case.reason
    else:
        assert isinstance(answer, Admit)
        assert tuple(evict.id for evict in answer.evict) == case.evicted


def test_a_refusal_names_the_largest_in_the_way_first() -> None:
    there = [
        replace(held("a", 10, pinned=True), pinned_by="maria"),
        held("b", 50, leased_by=("job p/train",)),
        replace(held("c", 20), kept_for="main"),
    ]
    answer = admit(SPACE, Stock(there), Asked("x", Room(50)))
    assert isinstance(answer, Refuse)
    assert answer.blockers == (
        "b (50 B) is in use by job p/train",
        "c (20 B) is kept here as the newest commit of main",
        "a (10 B) is pinned by maria",
    )


def test_a_fill_that_waits_for_its_limit_holds_nobody_up() -> None:
    leaving = replace(held("x", 30, state=EVICTING), project_id="p")
    first = held("a", 20, state=FILLING, attempt=0, requested_at=NOON - timedelta(seconds=1), project_id="p")
    second = held("b", 20, state=FILLING, attempt=0, project_id="q")
    assert fills_to_start(Usable(100), Stock([leaving, first, second], limits={"p": 40})) == ("b",)
    assert fills_to_start(Usable(100), Stock([first, second], limits={"p": 40})) == ("a", "b")


def test_what_a_fill_has_written_counts_once() -> None:
    filling = held("a", 40, state=FILLING, reserved_inodes=50, written_bytes=30, written_inodes=20)
    space = VolumeSpace("nfs", 100, 0, disk_free_bytes=60, inodes_total=100, inodes_free=70)
    assert usable_room(space, Stock([filling])) == Usable(90, 90)


def test_foreign_bytes_are_what_others_have_on_the_disk() -> None:
    space = replace(SPACE, disk_total_bytes=200, disk_free_bytes=90)
    assert foreign_bytes(space, Stock([held("a", 40)])) == 70
    assert foreign_bytes(space, Stock([held("a", 40)], [shared("a", 45)])) == 65
    assert foreign_bytes(SPACE, Stock()) is None


def test_what_evicted_commits_have_left_is_neither_free_nor_others() -> None:
    space = replace(SPACE, disk_total_bytes=500, disk_free_bytes=400, leftover_bytes=30)
    assert usable_room(space, Stock()).bytes == 70
    assert foreign_bytes(space, Stock()) == 70
    answer = admit(space, Stock(), Asked("x", Room(80)))
    assert isinstance(answer, Refuse)
    left = "30 B are taken by evicted commits that may still be open, and by request logs that wait"
    assert answer.reasons[1] == f"nfs can hold 70 B in total ({left})"
    assert isinstance(admit(space, Stock(), Asked("x", Room(70))), Admit)
