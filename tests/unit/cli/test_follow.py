from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from millpond.cli.follow import StateNotes
from millpond.model.job import JobState


def test_a_reason_is_told_once() -> None:
    said: list[str] = []
    note = StateNotes(cast(Any, SimpleNamespace(out=SimpleNamespace(note=said.append))))

    def job(state: JobState, *reasons: str) -> Any:
        return SimpleNamespace(id="a1", written="train", state=state, reasons=reasons)

    note(job(JobState.QUEUED, "Submitted by ada.", "No room is free."))
    note(job(JobState.PLACED, "Placed on gpu1."))
    note(job(JobState.RUNNING, "Placed on gpu1."))
    note(job(JobState.SUCCEEDED, "Succeeded."))
    assert said == [
        "train (a1) is queued: No room is free.",
        "train (a1) is placed: Placed on gpu1.",
        "train (a1) is running.",
    ]
