"""Which snapshots a run is due, as a table, and what they are called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from millpond.decide.workspaces.run_moments import RunTimes, due_snapshot, moment_of, snapshot_name
from millpond.errors import MillError
from millpond.model.job_spec import SnapshotMoments
from millpond.model.workspace import check_snapshot_name

PLACED = datetime(2026, 11, 18, 16, 23, 42, tzinfo=UTC)
STARTED, ENDED = PLACED + timedelta(seconds=3), PLACED + timedelta(hours=1)
ALL = SnapshotMoments(start=True, end=True, every_seconds=1800)
START = "snap-tusimple-train-start-2026-11-18-16-23-42"
HALF = "snap-tusimple-train-run-2026-11-18-16-53-45"
END = "snap-tusimple-train-end-2026-11-18-17-23-42"


@pytest.mark.parametrize(
    ("placed", "started", "ended", "taken", "minutes", "due"),
    [
        (None, None, None, [], 0, None),
        (PLACED, None, None, [], 0, START),
        (PLACED, None, None, [START], 0, None),
        (PLACED, STARTED, None, [START], 29, None),
        (PLACED, STARTED, None, [START], 31, HALF),
        (PLACED, STARTED, None, [START, HALF], 59, None),
        # Nobody could take the one after half an hour: the next one is, and not both.
        (PLACED, STARTED, None, [START], 61, "snap-tusimple-train-run-2026-11-18-17-23-45"),
        # A second attempt has the start of the first.
        (ENDED, None, None, [START], 62, None),
        (PLACED, STARTED, ENDED, [START, HALF], 61, END),
        (PLACED, STARTED, ENDED, [START, HALF, END], 61, None),
        # It never began: nothing has changed.
        (PLACED, None, ENDED, [START], 61, None),
    ],
)
def test_what_is_due(
    placed: datetime | None,
    started: datetime | None,
    ended: datetime | None,
    taken: list[str],
    minutes: int,
    due: str | None,
) -> None:
    now = STARTED + timedelta(minutes=minutes)
    assert due_snapshot(ALL, "tusimple", "train", RunTimes(placed, started, ended), taken, now) == due


def test_only_what_was_asked_for_is_due() -> None:
    running, over = RunTimes(PLACED, STARTED, None), RunTimes(PLACED, STARTED, ENDED)
    later = STARTED + timedelta(days=1)
    assert due_snapshot(SnapshotMoments(end=True), "w", "j", running, [], later) is None
    assert due_snapshot(SnapshotMoments(start=True), "w", "j", over, [], later) is None


def test_names_of_any_length_are_names_of_snapshots() -> None:
    for moment in ("start", "run", "end"):
        name = snapshot_name("w" * 63, "j" * 63, moment, PLACED)
        assert check_snapshot_name(name) == name
        assert moment_of(name, "w" * 63, "j" * 63) == moment
    assert moment_of("before-restore.20261118-030000", "w", "j") == ""


def test_moments_are_written_as_people_do() -> None:
    assert SnapshotMoments.parse("start, end,every=30m") == ALL
    for wrong in ("", "begin", "every", "every=1s", "every=x", "start,,end"):
        with pytest.raises(MillError):
            SnapshotMoments.parse(wrong)
