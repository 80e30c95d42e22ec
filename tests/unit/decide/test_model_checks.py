"""What a check means: of its job and the report it left, and for those who want to serve the version."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from millpond.decide.model_checks import ended, refusal
from millpond.model.job import Job, JobState
from millpond.model.model_check import CheckState, ModelCheck
from millpond.testing.builders_work import a_job

RUNNING = ModelCheck(CheckState.RUNNING, "j1", "ada", datetime(2026, 1, 1, tzinfo=UTC))
REPORT = {"schema": "millpond.model-check/1", "passed": True, "median_ms": 1.5}


def job(state: JobState) -> Job:
    made = a_job(id="j1")
    return replace(made, status=replace(made.status, state=state))


@pytest.mark.parametrize(
    ("state", "report", "expected", "error"),
    [
        (JobState.SUCCEEDED, json.dumps(REPORT).encode(), CheckState.PASSED, ""),
        (
            JobState.SUCCEEDED,
            json.dumps({**REPORT, "passed": False, "error": "no weights"}).encode(),
            CheckState.FAILED,
            "no weights",
        ),
        (JobState.FAILED, None, CheckState.FAILED, "Its job ended without a report. See why: mill logs j1"),
        (JobState.SUCCEEDED, b"{", CheckState.FAILED, "Its job ended without a report. See why: mill logs j1"),
        (JobState.SUCCEEDED, b"[]", CheckState.FAILED, "Its job ended without a report. See why: mill logs j1"),
        (JobState.CANCELLED, None, CheckState.FAILED, "Its job was cancelled. See why: mill logs j1"),
        (None, None, CheckState.FAILED, "Its job was deleted."),
    ],
)
def test_the_report_of_the_job_decides(
    state: JobState | None, report: bytes | None, expected: CheckState, error: str
) -> None:
    found = ended(RUNNING, job(state) if state else None, report)
    assert (found.state, found.error, found.job_id) == (expected, error, "j1")


def test_only_a_version_that_passed_may_be_served() -> None:
    assert refusal("chest@3", replace(RUNNING, state=CheckState.PASSED)) is None
    never, running, failed = (
        refusal("chest@3", None),
        refusal("chest@3", RUNNING),
        refusal("chest@3", replace(RUNNING, state=CheckState.FAILED, error="no weights")),
    )
    assert never == ("chest@3 has not been checked.", "Check it: mill model check chest@3")
    assert running is not None and running[0] == "chest@3 is being checked."
    assert failed is not None and failed[0] == "chest@3 failed its check: no weights"
