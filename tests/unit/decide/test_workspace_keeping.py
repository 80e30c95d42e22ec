"""Which snapshots rules let go, and which copies leave a volume: tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from millpond.decide.workspaces.keeping import copies_to_drop, expired, rules_of
from millpond.errors import BadName, BadRequest
from millpond.model.workspace import (
    KeepRule,
    SnapshotState,
    Workspace,
    WorkspaceSnapshot,
    format_keep,
    matching,
    parse_keep,
    snapshot_name,
    split_workspace,
)
from millpond.testing.clock import NOON

KEPT, NEAR, TAKING, FAILED = SnapshotState.KEPT, SnapshotState.NEAR, SnapshotState.TAKING, SnapshotState.FAILED


def snapshot(number: int, state: SnapshotState = KEPT, *, hours: float = 0, **changes: Any) -> WorkspaceSnapshot:
    """`hours` ago; the later ones have higher numbers."""
    at = NOON - timedelta(hours=hours)
    defaults: dict[str, Any] = {
        "workspace_id": "w", "number": number, "name": f"daily.{number}", "series": "daily", "created_by": "ada",
        "created_at": at, "taken_at": at, "state": state, "attempt": 1, "is_near": True, "commit_id": "c" * 64,
    }  # fmt: skip
    return WorkspaceSnapshot(**{**defaults, **changes})


TWO, DAY = KeepRule(count=2), KeepRule(seconds=86_400)
CASES: dict[str, tuple[KeepRule, Sequence[WorkspaceSnapshot], set[int], set[int]]] = {
    "the newest two": (TWO, [snapshot(n) for n in (1, 2, 3, 4)], set(), {1, 2}),
    "fewer than the rule keeps": (TWO, [snapshot(1), snapshot(2)], set(), set()),
    "one that is being taken does not count": (TWO, [*map(snapshot, (1, 2)), snapshot(3, TAKING)], set(), set()),
    "one that failed does not count, and goes once a later one is there": (
        TWO, [snapshot(1), snapshot(2, FAILED), snapshot(3)], set(), {2},
    ),
    "the newest failed: nothing goes": (TWO, [snapshot(1), snapshot(2), snapshot(3, FAILED)], set(), set()),
    "linked to a run": (TWO, [snapshot(1, run_id="r"), *map(snapshot, (2, 3, 4))], set(), {2}),
    "needed by a clone": (TWO, [snapshot(n) for n in (1, 2, 3)], {1}, set()),
    "near alone counts as well": (TWO, [snapshot(1, NEAR, commit_id=None), snapshot(2), snapshot(3)], set(), {1}),
    "older than a day": (DAY, [snapshot(1, hours=49), snapshot(2, hours=25), snapshot(3, hours=1)], set(), {1, 2}),
    "the only one, however old": (DAY, [snapshot(1, hours=900)], set(), set()),
    "the newest of old ones": (DAY, [snapshot(1, hours=900), snapshot(2, hours=800)], set(), {1}),
    "of another series": (TWO, [snapshot(n, series="") for n in (1, 2, 3)], set(), set()),
    "on its way out already": (TWO, [snapshot(1, SnapshotState.REMOVING), *map(snapshot, (2, 3))], set(), set()),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_rules(case: str) -> None:
    rule, snapshots, needed, goes = CASES[case]
    found = expired(snapshots, {"daily": rule}, needed, NOON)
    assert set(found) == goes
    assert found == expired(list(reversed(snapshots)), {"daily": rule}, needed, NOON)
    assert all(found.values()), "each with a reason"


def test_the_rule_of_a_series_is_its_schedules_or_that_of_its_newest_snapshot() -> None:
    taken = [snapshot(1, keep=TWO), snapshot(2, keep=DAY), snapshot(3)]
    assert rules_of(taken, {}) == {"daily": DAY}
    assert rules_of(taken, {"daily": TWO, "hourly": DAY}) == {"daily": TWO, "hourly": DAY}
    assert rules_of([snapshot(1)], {}) == {}


def workspace(*, size: int, unique: int) -> Workspace:
    return Workspace(
        id="w", project_id="p", project="default", name="w", owner_id="u", owner="ada", volume_id="v", volume="nfs",
        volume_path="/mnt", site_id="s", site="lab", size_bytes=size, unique_bytes=unique, created_at=NOON,
        changed_at=NOON,
    )  # fmt: skip


def test_near_copies_leave_when_they_take_too_much_and_are_kept() -> None:
    taken = [snapshot(n, unique_bytes=10) for n in (1, 2, 3)]
    assert copies_to_drop(workspace(size=100, unique=70), taken, ()) == []
    assert copies_to_drop(workspace(size=100, unique=75), taken, ()) == [1]
    assert copies_to_drop(workspace(size=100, unique=100), taken, ()) == [1, 2], "the newest stays"
    assert copies_to_drop(workspace(size=100, unique=100), taken, {1}) == [2], "one that a clone lies over stays"
    near = [replace(taken[0], state=NEAR, commit_id=None), *taken[1:]]
    assert copies_to_drop(workspace(size=100, unique=100), near, ()) == [2], "never the only copy"
    assert copies_to_drop(workspace(size=100, unique=100), [snapshot(1), snapshot(2)], ()) == [], "nothing to win"


def test_names_and_rules_as_people_write_them() -> None:
    assert parse_keep("7") == KeepRule(count=7)
    assert (parse_keep("30d"), format_keep(parse_keep("30d"))) == (KeepRule(seconds=30 * 86_400), "30d")
    assert format_keep(parse_keep("90m")) == "5400s"
    for wrong in ("0", "soon", "", "10s", "-1"):
        with pytest.raises(BadRequest):
            parse_keep(wrong)
    assert split_workspace("w") == ("w", None)
    assert split_workspace("w@daily*") == ("w", "daily*")
    for wrong in ("w@", "W", "w@a/b", "@a"):
        with pytest.raises(BadName):
            split_workspace(wrong)
    at = datetime(2026, 11, 18, 3, tzinfo=NOON.tzinfo)
    assert snapshot_name("daily", at, ()) == "daily.20261118-030000"
    assert snapshot_name("daily", at, ["daily.20261118-030000"]) == "daily.20261118-030000-2"


def test_what_a_written_name_means() -> None:
    taken = [snapshot(1), snapshot(2), snapshot(3, name="2", series="")]
    assert [one.number for one in matching(taken, "daily*")] == [2, 1]
    assert [one.number for one in matching(taken, "2")] == [3], "a name comes before a number"
    assert [one.number for one in matching(taken, "1")] == [1]
    assert matching(taken, "weekly*") == []
