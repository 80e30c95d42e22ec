"""Retries as tables: what the job asked for, how it ended, what becomes of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide import job_life
from millpond.decide.job_life import Report
from millpond.decide.retry import DEFAULT, MAX_WAIT_SECONDS, Again, Final, after_ending, checked_kinds
from millpond.errors import Invalid
from millpond.model.job import Ending, JobState, PlacementState
from millpond.testing.builders_work import a_job, a_placed_job
from millpond.testing.clock import NOON

FINAL, COUNTED, LOST = "final", "counted", "lost"


@pytest.mark.parametrize(
    ("retries", "retry_on", "retried", "ending", "exit_code", "expected"),
    [
        (0, DEFAULT, 0, Ending.EXIT, 1, FINAL),
        (2, DEFAULT, 0, Ending.EXIT, 1, COUNTED),
        (2, DEFAULT, 1, Ending.SIGNAL, None, COUNTED),
        (2, DEFAULT, 2, Ending.EXIT, 1, FINAL),
        (2, DEFAULT, 0, Ending.OOM, None, FINAL),
        (2, DEFAULT, 0, Ending.TIMEOUT, None, FINAL),
        (2, DEFAULT, 0, Ending.PROBLEM, None, FINAL),
        (2, ("oom",), 0, Ending.OOM, None, COUNTED),
        (2, ("oom",), 0, Ending.EXIT, 1, FINAL),
        (2, ("timeout",), 0, Ending.TIMEOUT, None, COUNTED),
        (2, ("75",), 0, Ending.EXIT, 75, COUNTED),
        (2, ("75",), 0, Ending.EXIT, 1, FINAL),
        (0, (), 0, Ending.LOST, None, LOST),
        (0, (), 0, Ending.EXPIRED, None, LOST),
        (2, DEFAULT, 2, Ending.TERMINATED, None, LOST),
    ],
)
def test_what_is_tried_again(
    retries: int, retry_on: tuple[str, ...], retried: int, ending: Ending, exit_code: int | None, expected: str
) -> None:
    job = a_placed_job(retries=retries, retry_on=retry_on, retried=retried)
    verdict = after_ending(job, ending, "it broke", exit_code, NOON)
    found = FINAL if isinstance(verdict, Final) else COUNTED if verdict.counted else LOST
    assert found == expected
    assert verdict.reason.startswith("it broke")


def test_each_wait_is_twice_as_long_up_to_a_most() -> None:
    waits = []
    for retried in range(10):
        job = a_placed_job(retries=10, retry_on=DEFAULT, retried=retried, backoff_seconds=5)
        verdict = after_ending(job, Ending.EXIT, "exit code 1", 1, NOON)
        assert isinstance(verdict, Again) and verdict.at is not None
        waits.append((verdict.at - NOON).total_seconds())
    assert waits[:4] == [5, 10, 20, 40]
    assert waits[-1] == MAX_WAIT_SECONDS


def test_machines_that_die_one_after_the_other_are_given_time() -> None:
    first = after_ending(a_placed_job(), Ending.LOST, "The machine restarted", None, NOON)
    third = after_ending(a_placed_job(losses=2), Ending.LOST, "The machine restarted", None, NOON)
    assert isinstance(first, Again) and first.at is None
    assert isinstance(third, Again) and third.at == NOON + timedelta(seconds=10)


def test_the_words_say_what_happens_next() -> None:
    job = a_placed_job(retries=3, retry_on=DEFAULT, retried=1)
    verdict = after_ending(job, Ending.EXIT, "exit code 1", 1, NOON)
    assert verdict.reason == "exit code 1; retrying in 10.0 s (retry 2 of 3)"
    over = after_ending(job.changed(retried=3), Ending.EXIT, "exit code 1", 1, NOON)
    assert over.reason == "exit code 1, and no retries are left (3 used)"


@pytest.mark.parametrize(
    ("written", "kinds"),
    [
        ([], DEFAULT),
        (["oom", "exit", "oom"], ("oom", "exit")),
        (["any"], ("exit", "signal", "oom", "timeout")),
        (["75"], ("75",)),
    ],
)
def test_kinds_as_people_write_them(written: list[str], kinds: tuple[str, ...]) -> None:
    assert checked_kinds(written) == kinds


@pytest.mark.parametrize("word", ["lost", "0", "256", "-1", "Exit", ""])
def test_what_is_no_kind_is_refused(word: str) -> None:
    with pytest.raises(Invalid, match="not a kind of failure"):
        checked_kinds([word])


REPORTS = st.builds(
    Report,
    st.just(PlacementState.FINISHED),
    started_at=st.just(NOON),
    exited_at=st.just(NOON),
    exit_code=st.sampled_from([None, 0, 1, 75]),
    signal=st.sampled_from([None, 9]),
    reason=st.sampled_from([None, "lost", "expired", "terminated", "timeout", "out_of_memory"]),
)


@given(st.lists(REPORTS, max_size=12), st.integers(0, 3), st.sets(st.sampled_from(["exit", "signal", "oom", "75"])))
def test_a_job_is_never_tried_more_often_than_asked_for_and_losses_never_end_it(
    reports: list[Report], retries: int, kinds: set[str]
) -> None:
    job = a_job(retries=retries, retry_on=tuple(sorted(kinds)))
    now = NOON
    for number, report in enumerate(reports, 1):
        assert job.status.not_before is None or job.status.not_before <= now
        job = job_life.place(job, f"p{number}", compute="local", node="local", reasons=[], now=now)
        assert job.status.attempt == number
        job = job_life.observe(job, report, now)
        assert job.status.retried <= retries
        assert job.status.retried + job.status.losses + job.status.state.is_finished == number
        if report.reason in ("lost", "expired", "terminated"):
            assert job.status.state is JobState.QUEUED
        if job.status.state.is_finished:
            assert (job.status.state is JobState.SUCCEEDED) == (job.status.ending is None)
            return
        now = max(now, job.status.not_before or now)
