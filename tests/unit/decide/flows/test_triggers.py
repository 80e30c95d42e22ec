"""When schedules come, which paths match, which triggers are the same, and flows that go in circles."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest

from millpond.decide.flows.backfill import Room
from millpond.decide.flows.triggers.loops import find_loop
from millpond.decide.flows.triggers.paths import first_match
from millpond.decide.flows.triggers.replacing import match_triggers
from millpond.decide.flows.triggers.schedule import DueTimes, Schedule, due_times, parse_schedule
from millpond.model.flow import Trigger
from millpond.model.flow_trigger import Missed, SavedTrigger, TriggerType

BERLIN = "Europe/Berlin"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "zone", "after", "times"),
    [
        ("0 3 * * 1", BERLIN, "2026-01-01T00:00", ["2026-01-05T02:00", "2026-01-12T02:00"]),
        # Clocks go forward on 29 March 2026: there is no 02:30, so it comes at the next moment there is.
        ("30 2 * * *", BERLIN, "2026-03-28T02:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        # Clocks go back on 25 October 2026: 02:30 comes twice, and counts once.
        ("30 2 * * *", BERLIN, "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        # Every hour is every hour.
        ("0 * * * *", BERLIN, "2026-10-24T23:30", ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"]),
        ("0 0 29 2 *", "UTC", "2026-01-01T00:00", ["2028-02-29T00:00"]),
        ("0 9 * * *", "America/New_York", "2026-03-07T12:00", ["2026-03-07T14:00", "2026-03-08T13:00"]),
    ],
)
def test_times_of_a_schedule(cron: str, zone: str, after: str, times: list[str]) -> None:
    found = islice(parse_schedule(cron, zone).times(at(after)), len(times))
    assert [f"{one:%Y-%m-%dT%H:%M}" for one in found] == times


def test_the_last_time() -> None:
    every = Schedule("*/10 * * * *")
    assert every.last(at("2026-01-01T12:10:00")) == at("2026-01-01T12:10")
    assert every.last(at("2026-01-01T12:10:59")) == at("2026-01-01T12:10")
    assert every.last(at("2026-01-01T12:09:59")) == at("2026-01-01T12:00")


NINE, TEN, ELEVEN = at("2026-01-01T09:00"), at("2026-01-01T10:00"), at("2026-01-01T11:00")


@pytest.mark.parametrize(
    ("missed", "late", "fire", "left_out"),
    [
        (Missed.ONCE, timedelta(seconds=2), (NINE,), ()),
        (Missed.SKIP, timedelta(seconds=2), (NINE,), ()),
        (Missed.ALL, timedelta(seconds=2), (NINE,), ()),
        (Missed.ONCE, timedelta(minutes=90), (TEN,), (NINE,)),
        (Missed.SKIP, timedelta(minutes=90), (), (NINE, TEN)),
        (Missed.SKIP, timedelta(minutes=60, seconds=2), (TEN,), (NINE,)),
        (Missed.ALL, timedelta(minutes=90), (NINE, TEN), ()),
    ],
)
def test_missed_times(missed: Missed, late: timedelta, fire: Any, left_out: Any) -> None:
    found = due_times(Schedule("0 * * * *"), NINE, NINE + late, missed)
    after = TEN if late < timedelta(minutes=60) else ELEVEN
    assert found == DueTimes(fire, left_out, found.reason, after)
    assert bool(found.reason) is bool(left_out)


def test_a_year_without_a_server_is_looked_at_in_parts() -> None:
    start, now = at("2025-01-01T00:00"), at("2026-01-01T00:00")
    once = due_times(Schedule("* * * * *"), start, now, Missed.ONCE)
    assert (once.fire, once.next_at) == ((now,), now + timedelta(minutes=1))
    every = due_times(Schedule("* * * * *"), start, now, Missed.ALL)
    assert (len(every.fire), every.next_at) == (1_000, start + timedelta(minutes=1_000))


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("train/**", "train/a/b.png", True),
        ("train/**", "train", False),
        ("train/**", "training/a", False),
        ("**/*.csv", "x.csv", True),
        ("**/*.csv", "a/b/x.csv", True),
        ("*.csv", "a/x.csv", False),
        ("*.csv", "x.csv", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/c/d/b", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("./a.[c]", "a.[c]", True),
        ("**", "any/thing", True),
    ],
)
def test_paths(pattern: str, path: str, matches: bool) -> None:
    assert (first_match([pattern], [path.encode()]) is not None) is matches


def test_paths_that_are_no_text() -> None:
    assert first_match(["*.png"], [b"\xff\xfe", b"\xff.png"]) is not None


def test_no_pattern_takes_for_ever() -> None:
    assert first_match(["a*" * 400 + "b", "**/" * 300 + "x"], [b"a" * 2_000, b"d/" * 500 + b"y"]) is None


def saved(number: int, kind: str, **settings: Any) -> SavedTrigger:
    return SavedTrigger(
        id=str(number), project_id="p", flow_id="f", flow="f", position=number, type=TriggerType(kind),
        settings=settings, created_at=NINE,
    )  # fmt: skip


def test_triggers_that_are_the_same() -> None:
    before = [
        saved(1, "commit", ref="xray@main", paths=["a"]),
        saved(2, "commit", ref="xray@main", paths=["b"]),
        saved(3, "cron", cron="0 3 * * *"),
        saved(4, "webhook", name="x"),
    ]
    wanted = [
        Trigger("webhook", {"name": "y"}),
        Trigger("commit", {"ref": "xray@main", "paths": ["b"]}),
        Trigger("commit", {"ref": "xray@main", "paths": ["c"], "debounce": "5m"}),
        Trigger("cron", {"cron": "0 4 * * *"}),
    ]
    found = match_triggers(before, wanted)
    assert [one.id if one else None for one in found] == [None, "2", "1", None]


def test_loops() -> None:
    edges = {"a": "b", "b": "cd", "c": "", "d": "be", "e": "a"}
    assert find_loop("a", lambda name: edges[name]) == ("a", "b", "d", "e", "a")
    assert find_loop("c", lambda name: edges[name]) is None
    assert find_loop("b", lambda name: edges[name]) == ("b", "d", "b")


@pytest.mark.parametrize(
    ("room", "left", "reason"),
    [
        (Room(max_parallel=4, limit=0, living=9, own=1), 3, ""),
        (Room(max_parallel=4, limit=2, living=1, own=1), 1, ""),
        (Room(max_parallel=4, limit=2, living=2, own=1), 0, "Waits: the flow lets 2 run at once."),
        (Room(max_parallel=2, limit=0, living=2, own=2), 0, "Waits: 2 of at most 2 at once are going on."),
    ],
)
def test_room_of_a_backfill(room: Room, left: int, reason: str) -> None:
    assert (room.left, room.reason) == (left, reason)
