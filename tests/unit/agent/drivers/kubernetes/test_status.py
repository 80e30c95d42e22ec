"""What is concluded from the keeper's files and its pods, where a real cluster cannot be made to show it quickly."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from millpond.agent.drivers import Exited, Lost, NotStarted, Pending, Reason, Running, Status, records
from millpond.agent.drivers.kubernetes.observed import FoundPods, WatchedPods
from millpond.agent.drivers.kubernetes.status import (
    LAST_WORDS_SECONDS,
    MARGIN_SECONDS,
    WORDS_SECONDS,
    standing,
)
from millpond.agent.keeper.files import claim
from millpond.testing.agents import a_spec

BEGAN = 1000.0
VALID, GRACE = 600, 30

RUNNING = {"metadata": {"name": "mill-p1-x"}, "status": {"phase": "Running"}}


def over(**terminated: Any) -> dict[str, Any]:
    state = {"state": {"terminated": terminated}}
    return {"metadata": {"name": "mill-p1-x"}, "status": {"phase": "Failed", "containerStatuses": [state]}}


@pytest.fixture
def watched(tmp_path: Path) -> WatchedPods:
    directory = tmp_path / "p1"
    directory.mkdir()
    spec = a_spec(directory=str(directory), valid_seconds=VALID, grace_seconds=GRACE)
    spec.write(directory)
    return WatchedPods(directory, spec)


def after(watched: WatchedPods, *pods: dict[str, Any], seconds: float = 0) -> Status:
    """How it stands so many seconds after its pods were first seen like this."""
    watched.found = FoundPods(BEGAN, pods)
    standing(watched, gather_seconds=60, now=BEGAN)
    return standing(watched, gather_seconds=60, now=BEGAN + seconds)


def said(watched: WatchedPods, **how: object) -> None:
    record = {"exit_code": None, "signal": None, "reason": None, "problem": None, "started_at": 1.0, "exited_at": 2.0}
    (watched.directory / "exit.json").write_text(json.dumps(record | how))


def test_it_waits_from_when_the_cluster_has_it(watched: WatchedPods) -> None:
    assert after(watched) == NotStarted()
    watched.handed_at = BEGAN
    assert isinstance(after(watched), Pending)


def test_last_words_may_come_late(watched: WatchedPods) -> None:
    assert claim(str(watched.directory / records.CLAIM))
    assert isinstance(after(watched, RUNNING, seconds=1e6), Running)
    killed, left = over(exitCode=137), over(exitCode=0)
    assert isinstance(after(watched, killed, seconds=WORDS_SECONDS), Running)
    assert isinstance(after(watched, killed, seconds=WORDS_SECONDS + 1), Lost)
    assert isinstance(after(watched, left, seconds=LAST_WORDS_SECONDS), Running)
    assert isinstance(after(watched, left, seconds=LAST_WORDS_SECONDS + 1), Lost)


def test_without_its_pod_it_is_told_to_stop_and_lost_only_when_its_keeper_has_ended_it(watched: WatchedPods) -> None:
    assert claim(str(watched.directory / records.CLAIM))
    patience = VALID + GRACE + MARGIN_SECONDS
    assert isinstance(after(watched, seconds=patience), Running)
    assert (watched.directory / records.STOP).exists()
    assert after(watched, seconds=patience + 1) == Lost("The job's pod is gone.", None)


def test_a_pod_that_is_seen_again_begins_the_silence_anew(watched: WatchedPods) -> None:
    assert claim(str(watched.directory / records.CLAIM))
    assert isinstance(after(watched, over(exitCode=137), seconds=WORDS_SECONDS), Running)
    assert isinstance(after(watched, RUNNING), Running)
    watched.found = FoundPods(BEGAN, (over(exitCode=137),))
    assert isinstance(standing(watched, gather_seconds=60, now=BEGAN + WORDS_SECONDS + 1), Running)


def test_who_killed_it_is_known_when_its_pod_is_over(watched: WatchedPods) -> None:
    said(watched, signal=signal.SIGKILL)
    assert isinstance(after(watched, RUNNING), Running)
    full = after(watched, over(reason="OOMKilled", exitCode=137))
    assert isinstance(full, Exited) and full.reason is Reason.OUT_OF_MEMORY
    other = after(watched, over(reason="Error", exitCode=137))
    assert isinstance(other, Exited) and (other.signal, other.reason) == (signal.SIGKILL, None)


def test_whoever_deletes_its_job_has_cancelled_it(watched: WatchedPods) -> None:
    said(watched, signal=signal.SIGTERM, reason="terminated")
    assert isinstance(standing(watched, gather_seconds=60, now=BEGAN), Running), "the cluster is asked first"
    drained = after(watched, over(exitCode=0))
    assert isinstance(drained, Exited) and drained.reason is Reason.TERMINATED
    watched.job_deleted = True
    deleted = after(watched)
    assert isinstance(deleted, Exited) and deleted.reason is Reason.CANCELLED
    assert "its Job was deleted" in (deleted.problem or "")


def test_a_job_that_was_deleted_without_a_word_of_its_keeper(watched: WatchedPods) -> None:
    assert claim(str(watched.directory / records.CLAIM))
    watched.job_deleted = True
    patience = VALID + GRACE + MARGIN_SECONDS
    assert isinstance(after(watched, seconds=patience), Running)
    ended = after(watched, seconds=patience + 1)
    assert isinstance(ended, Exited) and ended.reason is Reason.CANCELLED
