"""When an interactive job is stopped because nobody uses it."""

from __future__ import annotations

from millpond.model.job import Job, JobState


def idle_too_long(job: Job, unused_seconds: float) -> bool:
    """Whether it has run for its idle time without anybody: counted from its last use, or from when it began."""
    if (
        not job.spec.idle_seconds
        or job.status.state is not JobState.RUNNING
        or job.status.stop_requested_at is not None
    ):
        return False
    return unused_seconds > job.spec.idle_seconds
