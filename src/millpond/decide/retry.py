"""Decides whether and when a job is retried after an attempt that did not succeed, with a sentence.

An attempt lost through no fault of the job (its machine died, its placement expired, its engine evicted it) is always
repeated and does not count as a retry. A service is repeated for ever, ever more slowly. Failures of any other job
itself are retried only if the submitter asked for that kind of ending, up to the number of retries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from millpond.errors import Invalid
from millpond.model.job import Ending, Job
from millpond.model.job_spec import JobKind
from millpond.model.quantity import format_seconds

# What `--retry-on` takes, beside exit statuses like 75.
KINDS = (Ending.EXIT, Ending.SIGNAL, Ending.OOM, Ending.TIMEOUT)
# Too little memory is too little next time, and a time limit is there to be kept: both only when asked for.
DEFAULT = (Ending.EXIT.value, Ending.SIGNAL.value)
ANY = "any"
# In the reason of every attempt that is followed by another.
RETRYING = "; retrying"
MAX_WAIT_SECONDS = 300
MAX_EXIT_STATUS = 255
# Machines that die one after the other, perhaps because of the job: the first time it is placed again at once.
LOSS_SECONDS = 5
# A service is tried again for ever: at once if it ran well before, then ever more slowly.
SERVICE_SECONDS = 1
SERVICE_WELL_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Again:
    """Retry, not before `at`. `counted`: it counts as one of the job's retries."""

    at: datetime | None
    counted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Final:
    reason: str


def checked_kinds(written: Sequence[str]) -> tuple[str, ...]:
    """Normalise the kinds of endings to retry. Raises Invalid for an unknown kind."""
    kinds = {kind.value for kind in KINDS}
    found: list[str] = []
    for word in written:
        if word == ANY:
            return tuple(kind.value for kind in KINDS)
        if word not in kinds and not (word.isascii() and word.isdigit() and 0 < int(word) <= MAX_EXIT_STATUS):
            raise Invalid(
                f"{word!r} is not a kind of failure to retry.",
                hint=f"Choose from {', '.join([*(kind.value for kind in KINDS), ANY])} and exit codes like 75.",
                fields=["retry_on"],
            )
        found.append(word)
    return tuple(dict.fromkeys(found)) or DEFAULT


def after_ending(job: Job, ending: Ending, said: str, exit_code: int | None, now: datetime) -> Again | Final:
    """Decide what follows an attempt with this ending; `said` describes it to people."""
    begin = said.removesuffix(".")
    if ending.is_loss:
        wait = _doubled(LOSS_SECONDS, job.status.losses) if job.status.losses else 0
        return Again(_later(now, wait), counted=False, reason=f"{begin}{_when(wait)}")
    if job.spec.kind is JobKind.SERVICE:
        wait = 0 if _ran_well(job, now) else _doubled(SERVICE_SECONDS, job.status.retried)
        return Again(_later(now, wait), counted=True, reason=f"{begin}{_when(wait)}")
    if not job.spec.retries or not _is_wanted(job, ending, exit_code):
        return Final(said)
    if job.status.retried >= job.spec.retries:
        return Final(
            f"{begin}, and no retries are left ({job.spec.retries} used)"
            if job.spec.retries > 1
            else f"{begin}, as before"
        )
    wait = _doubled(job.spec.backoff_seconds, job.status.retried + 1)
    return Again(
        _later(now, wait),
        counted=True,
        reason=f"{begin}{_when(wait)} (retry {job.status.retried + 1} of {job.spec.retries})",
    )


def _ran_well(job: Job, now: datetime) -> bool:
    started = job.status.started_at
    is_first = not job.status.retried
    return is_first or (started is not None and (now - started).total_seconds() >= SERVICE_WELL_SECONDS)


def _is_wanted(job: Job, ending: Ending, exit_code: int | None) -> bool:
    return ending.value in job.spec.retry_on or (ending is Ending.EXIT and str(exit_code) in job.spec.retry_on)


def _doubled(seconds: int, times: int) -> int:
    """Exponential backoff: `seconds`, doubled each time, up to a maximum."""
    return min(seconds << min(times - 1, 20), max(MAX_WAIT_SECONDS, seconds))


def _later(now: datetime, seconds: int) -> datetime | None:
    return now + timedelta(seconds=seconds) if seconds else None


def _when(seconds: int) -> str:
    return f"{RETRYING} in {format_seconds(seconds)}" if seconds else RETRYING
