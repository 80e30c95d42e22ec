"""What a check of a version means: of its job and the report it left, and for those who want to serve it."""

from __future__ import annotations

import json
from dataclasses import replace

from millpond.model.job import Job, JobState
from millpond.model.model_check import CheckState, ModelCheck

_SCHEMA = "millpond.model-check/1"


def ended(check: ModelCheck, job: Job | None, report: bytes | None) -> ModelCheck:
    """The check once its job has ended (None: it is gone) with this report (None: it left none)."""
    if job is None:
        return replace(check, state=CheckState.FAILED, error="Its job was deleted.")
    found = _read(report)
    if found is None:
        said = "was cancelled" if job.status.state is JobState.CANCELLED else "ended without a report"
        return replace(check, state=CheckState.FAILED, error=f"Its job {said}. See why: mill logs {job.id}")
    if found.get("passed") is True:
        return replace(check, state=CheckState.PASSED, error="", report=found)
    return replace(check, state=CheckState.FAILED, error=str(found.get("error") or "It failed."), report=found)


def refusal(written: str, check: ModelCheck | None) -> tuple[str, str] | None:
    """Why a version, written `model@3`, must not be served yet, and what to do; None if it may."""
    if check is not None and check.state is CheckState.PASSED:
        return None
    if check is None:
        return f"{written} has not been checked.", f"Check it: mill model check {written}"
    if check.state is CheckState.RUNNING:
        return f"{written} is being checked.", f"Wait for it: mill model check {written}"
    return f"{written} failed its check: {check.error}", f"Repeat it: mill model check {written}"


def _read(report: bytes | None) -> dict[str, object] | None:
    try:
        found = json.loads(report or b"")
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("schema") == _SCHEMA else None
