"""Decides when an unused interactive job is stopped."""

from __future__ import annotations

from millpond.model.job import Job, JobState


def idle_too_long(job: Job, unused_seconds: float) -> bool:
    """True if the job was unused for its idle time, counted from its last use or its start."""
    if (
        not job.spec.idle_seconds
        or job.status.state is not JobState.RUNNING
        or job.status.stop_requested_at is not None
    ):
        return False
    return unused_seconds > job.spec.idle_seconds
