"""What is concluded from the keeper's files and Slurm's word, where a real cluster cannot be made to say so quickly."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from millpond.agent.drivers import Exited, Lost, Pending, Reason, Running, Status, records
from millpond.agent.drivers.slurm.commands import SlurmJob
from millpond.agent.drivers.slurm.status import MARGIN_SECONDS, WatchedJob, standing
from millpond.agent.keeper.files import claim
from millpond.testing.agents import a_spec

BEGAN, SETTLE = 1000.0, 5.0
VALID, GRACE = 600, 30


@pytest.fixture
def placement(tmp_path: Path) -> Path:
    directory = tmp_path / "p1"
    directory.mkdir()
    a_spec(directory=str(directory), valid_seconds=VALID, grace_seconds=GRACE).write(directory)
    return directory


def claimed(placement: Path) -> Path:
    assert claim(str(placement / records.CLAIM))
    return placement


def said(placement: Path, **how: object) -> Path:
    record = {"exit_code": None, "signal": None, "reason": None, "problem": None, "started_at": 1.0, "exited_at": 2.0}
    (claimed(placement) / "exit.json").write_text(json.dumps(record | how))
    return placement


def after(placement: Path, state: str | None, *, seconds: float = SETTLE, code: int | None = None) -> Status:
    """How it stands so many seconds after Slurm was first seen to say so; None: Slurm does not know it."""
    watched = WatchedJob("7", since=BEGAN)
    job = SlurmJob("7", "mill-p1", state, "", "n1", code, "alice" if state == "CANCELLED" else "") if state else None
    watched.take(job, BEGAN)
    standing(placement, watched, BEGAN, SETTLE)
    watched.take(job, BEGAN + seconds)
    return standing(placement, watched, BEGAN + seconds, SETTLE)


def test_before_a_look_nothing_is_known(placement: Path) -> None:
    watched = WatchedJob("7", since=BEGAN)
    assert isinstance(standing(placement, watched, BEGAN + 100, SETTLE), Pending)
    watched.take(None, BEGAN - 1)  # a look that began before the job was given cannot know it
    assert isinstance(standing(placement, watched, BEGAN + 100, SETTLE), Pending)


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("TIMEOUT", Reason.TERMINATED, "exceeded its time limit"),
        ("CANCELLED", Reason.CANCELLED, "cancelled in Slurm by alice (on n1)"),
        ("OUT_OF_MEMORY", Reason.OUT_OF_MEMORY, "memory limit"),
        ("PREEMPTED", Reason.TERMINATED, "higher priority"),
    ],
)
def test_why_slurm_ended_it_is_added_to_what_the_keeper_says(
    placement: Path, state: str, reason: Reason, words: str
) -> None:
    status = after(said(placement, signal=signal.SIGTERM, reason="terminated"), state)
    assert isinstance(status, Exited)
    assert status.reason is reason and words in (status.problem or "")


def test_the_keepers_word_counts_where_slurm_has_nothing_to_add(placement: Path) -> None:
    status = after(said(placement, exit_code=3), "FAILED")
    assert isinstance(status, Exited) and (status.exit_code, status.reason, status.problem) == (3, None, None)


def test_killed_by_a_keeper_that_was_told_to(placement: Path) -> None:
    (placement / records.STOP).touch()
    status = after(said(placement, signal=15, reason="terminated"), "CANCELLED")
    assert isinstance(status, Exited) and (status.reason, status.problem) == (Reason.STOPPED, None)


def test_files_of_a_node_may_take_a_while_to_be_seen(placement: Path) -> None:
    assert isinstance(after(claimed(placement), "FAILED", seconds=SETTLE - 1), Running)
    assert isinstance(after(placement, "FAILED"), Lost)


@pytest.mark.parametrize("state", ["NODE_FAIL", None])
def test_where_nobody_can_vouch_for_its_end_its_validity_must_have_passed(placement: Path, state: str | None) -> None:
    claimed(placement)
    assert isinstance(after(placement, state, seconds=VALID + GRACE), Running)
    assert (placement / records.STOP).exists()
    assert isinstance(after(placement, state, seconds=VALID + GRACE + MARGIN_SECONDS), Lost)


def test_killed_before_its_keeper_could_say_anything(placement: Path) -> None:
    status = after(claimed(placement), "TIMEOUT")
    assert isinstance(status, Exited)
    assert (status.signal, status.reason) == (signal.SIGKILL, Reason.TERMINATED)


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        ("FAILED", 75, "is not visible on n1"),
        ("FAILED", 77, "No Python 3.9"),
        (None, None, "no longer knows the job"),
    ],
)
def test_what_never_began_never_will(placement: Path, state: str | None, code: int | None, words: str) -> None:
    status = after(placement, state, code=code)
    assert isinstance(status, Exited)
    assert status.reason is Reason.NOT_STARTED and words in (status.problem or "")
    assert not claim(str(placement / records.CLAIM))


def test_cancelled_before_it_began(placement: Path) -> None:
    status = after(placement, "CANCELLED")
    assert isinstance(status, Exited) and status.reason is Reason.CANCELLED
    assert status.problem == "The job was cancelled in Slurm by alice (on n1) before it started."
    assert not claim(str(placement / records.CLAIM))
