"""Which queued jobs may begin, as tables: what they come after, how that stands, what is said."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.decide.readiness import Never, Ready, Waits, readiness
from millpond.model.job import Job, JobState
from millpond.model.job_spec import Dependency
from millpond.testing.builders_work import a_job
from millpond.testing.clock import NOON

FIRST = "first001"


def first(state: JobState, problem: str | None = None) -> dict[str, Job]:
    return {FIRST: a_job(id=FIRST, name="first", state=state, problem=problem)}


@pytest.mark.parametrize(
    ("when", "state", "expected"),
    [
        ("success", JobState.QUEUED, "first (first001), which is queued, and starts when that has succeeded."),
        ("success", JobState.RUNNING, "first (first001), which is running, and starts when that has succeeded."),
        ("any", JobState.RUNNING, "first (first001), which is running, and starts when that has ended."),
        ("success", JobState.SUCCEEDED, Ready()),
        ("any", JobState.FAILED, Ready()),
        ("any", JobState.CANCELLED, Ready()),
        ("success", JobState.FAILED, Never("first (first001), which had to succeed first, failed")),
        ("success", JobState.CANCELLED, Never("first (first001), which had to succeed first, was cancelled")),
    ],
)
def test_a_job_that_comes_after_another(when: str, state: JobState, expected: object) -> None:
    job = a_job(after=(Dependency(FIRST, when),))
    found = readiness(job, first(state), NOON)
    assert found == (Waits(f"it depends on {expected}") if isinstance(expected, str) else expected)


def test_the_reason_of_the_first_is_told() -> None:
    found = readiness(a_job(after=(Dependency(FIRST),)), first(JobState.FAILED, "exit code 3"), NOON)
    assert found == Never("first (first001), which had to succeed first, failed: exit code 3")


def test_one_that_was_deleted_for_good() -> None:
    assert isinstance(readiness(a_job(after=(Dependency(FIRST),)), {}, NOON), Never)
    assert readiness(a_job(after=(Dependency(FIRST, "any"),)), {}, NOON) == Ready()


def test_the_pause_before_a_retry() -> None:
    job = a_job(not_before=NOON + timedelta(seconds=5))
    assert readiness(job, {}, NOON) == Waits("retry at 12:00:05 UTC.", "backoff")
    assert readiness(job, {}, NOON + timedelta(seconds=5)) == Ready()


def test_a_clock_that_is_set_back_does_not_lengthen_the_pause() -> None:
    job = a_job(requeued_at=NOON, not_before=NOON + timedelta(seconds=5))
    assert isinstance(readiness(job, {}, NOON), Waits)
    assert readiness(job, {}, NOON - timedelta(hours=1)) == Ready()


@given(st.lists(st.tuples(st.sampled_from(JobState), st.sampled_from(["success", "any"])), max_size=6))
def test_it_begins_only_when_all_have_ended_as_they_should(others: list[tuple[JobState, str]]) -> None:
    known = {f"job{number}": a_job(id=f"job{number}", state=state) for number, (state, _) in enumerate(others)}
    job = a_job(after=tuple(Dependency(f"job{number}", when) for number, (_, when) in enumerate(others)))
    found = readiness(job, known, NOON)
    hopeless = any(state in (JobState.FAILED, JobState.CANCELLED) and when == "success" for state, when in others)
    assert isinstance(found, Never) == hopeless
    if not hopeless:
        assert isinstance(found, Ready) == all(state.is_finished for state, _ in others)
