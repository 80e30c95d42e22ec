"""What failed starts of replicas and routers say: how the newest one ended and why, and when waiting is of no use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from millpond.decide.endpoints.replicas import ReplicaKind, kind_of
from millpond.decide.retry import RETRYING
from millpond.model.job import Job
from millpond.model.quantity import format_count
from millpond.model.replica import FailedStarts, Replica, ReplicaState, Router

# By then it is hardly chance. It is still tried again, ever more slowly, but nobody has to wait for it.
LASTING = 3


def ending_of(job: Job) -> str | None:
    """How its newest attempt ended; what came after that is how the next one stands."""
    return next((one for one in reversed(job.status.reasons) if RETRYING in one), None)


def described(ended: str | None, cause: str | None) -> str | None:
    """A failure in one sentence: what the process wrote last, and how it ended."""
    return f"{cause.rstrip('.')} ({ended})" if ended and cause else ended


def counted(failures: FailedStarts, retried: int) -> FailedStarts:
    """With what has failed meanwhile; the cause of a new failure is not known yet."""
    return failures if failures.newest == retried else replace(failures, newest=retried, cause=None)


def served(retried: int) -> FailedStarts:
    """Of one that serves: what failed before is over."""
    return FailedStarts(before=retried, newest=retried)


def lasting_failure(
    wanted: Mapping[str, Mapping[ReplicaKind, int]], here: Sequence[Replica], routers: Sequence[Router]
) -> str | None:
    """What failed so often that waiting for it is of no use, and what serves meanwhile; None while there is hope.

    `wanted` are kinds of replicas by site; `routers` those that take no requests.
    """
    failed = [
        f"{one.written} failed to start {format_count(one.failures.count, 'time')} at {one.site}: {one.problem}."
        for one in here
        if one.state is ReplicaState.STARTING
        and one.failures.count >= LASTING
        and kind_of(one) in wanted.get(one.site, {})
    ]
    if failed:
        failed = [*dict.fromkeys(failed), _still_serving(here)]
    failed += [
        f"The router at {one.site} failed to start {format_count(one.failures.count, 'time')}"
        + (f": {one.failures.cause.rstrip('.')}." if one.failures.cause else ".")
        for one in routers
        if one.failures.count >= LASTING
    ]
    return " ".join(failed) or None


def _still_serving(here: Sequence[Replica]) -> str:
    names = sorted({one.written for one in here if one.state is ReplicaState.READY})
    if not names:
        return "No replica serves."
    return f"{' and '.join(names)} still {'serves' if len(names) == 1 else 'serve'}."
