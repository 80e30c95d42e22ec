"""Why replicas and routers fail: the end of the log of the attempt that failed, read once for each."""

from __future__ import annotations

from dataclasses import replace

from millpond.db import placements
from millpond.decide.endpoints.failing import counted, described, ending_of, served
from millpond.decide.endpoints.last_words import last_words
from millpond.model.job import Job
from millpond.model.replica import FailedStarts, Replica
from millpond.services.deps import Deps
from millpond.services.runs import logs

# Enough for the end of a traceback.
_LOG_END = 16 << 10


def with_cause(deps: Deps, replica: Replica, job: Job | None, before: Replica) -> Replica:
    """The replica as observed, with the cause of a failure that is new since `before`."""
    if job is None or not replica.problem or replica.failures.newest == before.failures.newest:
        return replica
    cause = cause_of(deps, job)
    problem = described(ending_of(job), cause) or replica.problem
    return replace(replica, failures=replace(replica.failures, cause=cause), problem=problem)


def of_router(deps: Deps, before: FailedStarts, job: Job, *, serves: bool) -> FailedStarts:
    """Failures of a router as its job is now."""
    if serves:
        return before if before.before == job.status.retried else served(job.status.retried)
    found = counted(before, job.status.retried)
    return found if found is before else replace(found, cause=cause_of(deps, job))


def cause_of(deps: Deps, job: Job) -> str | None:
    """What the newest attempt that has ended wrote last: all of its log is here by then."""
    with deps.db.read() as tx:
        ended = [one for one in placements.of_job(tx, job.id) if one.ended_at is not None]
    if not ended:
        return None
    data = logs.read(deps, job, -_LOG_END, _LOG_END, ended[-1].number).data
    return last_words(data.decode(errors="replace"))
