"""State machine of a job: one function per transition, and one table of allowed transitions.

Each function takes a job and returns the changed job; the caller saves it, guarded by the state it had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from signal import Signals
from typing import Any

from millpond.decide.retry import Again, after_ending
from millpond.decide.scheduling.backoff import WINDOW
from millpond.errors import Conflict
from millpond.model.job import Ending, GpuFractions, Job, JobState, PlacementState
from millpond.model.quantity import format_bytes, format_seconds

MAX_REASONS = 20
WAITING = "Waiting: "

_PLACED = (JobState.PLACED, JobState.PREPARING, JobState.RUNNING)
# One that is preempted ends first.
_HOLDING = (*_PLACED, JobState.PREEMPTED)

# Stopped for a while: it comes back to the queue, or waits to be resumed.
_COMES_BACK = (Ending.PREEMPTED, Ending.SUSPENDED)

TRANSITIONS: Mapping[tuple[JobState, JobState], str] = {
    (JobState.QUEUED, JobState.PLACED): "place",
    (JobState.PLACED, JobState.PREPARING): "prepare",
    (JobState.PLACED, JobState.RUNNING): "start",
    (JobState.PREPARING, JobState.RUNNING): "start",
    (JobState.QUEUED, JobState.CANCELLED): "cancel",
    (JobState.QUEUED, JobState.FAILED): "fail",
    (JobState.QUEUED, JobState.SUSPENDED): "suspend",
    (JobState.SUSPENDED, JobState.QUEUED): "resume",
    (JobState.SUSPENDED, JobState.CANCELLED): "cancel",
    **{(state, JobState.SUSPENDED): "requeue" for state in _HOLDING},
    **{(state, JobState.PREEMPTED): "preempt" for state in _PLACED},
    **{(state, JobState.QUEUED): "requeue" for state in _HOLDING},
    # From any of them: the end may be the first thing an agent can tell after a silence.
    **{(state, JobState.SUCCEEDED): "finish" for state in _HOLDING},
    **{(state, JobState.FAILED): "finish" for state in _HOLDING},
    **{(state, JobState.CANCELLED): "finish" for state in _HOLDING},
}


@dataclass(frozen=True, slots=True)
class Report:
    """An agent's report about a placement; times are by the agent's clock."""

    state: PlacementState
    started_at: datetime | None = None
    exited_at: datetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    # Why it ended, when the command did not end by itself, in the agent's word.
    reason: str | None = None
    problem: str | None = None
    output_commit: str | None = None
    # Why its newest checkpoint could not be saved.
    checkpoint_problem: str | None = None
    # Of a distributed job: the process whose failure ended all the others.
    failed_rank: int | None = None
    # What the engine says it waits for, before the command has begun.
    waiting: str | None = None
    # Of a step of a flow: the values that it wrote, and the names of outputs that are files.
    step_made: Mapping[str, Any] | None = None
    # Of the image that its container was made of.
    image_digest: str | None = None


# Whom a job is preempted for, by rule.
_TAKERS = {
    "claim": "a job within its project's quota",
    "rebalance": "a project below its share",
    "priority": "a job of higher priority",
}

# The agent's words for endings that are not the command's own doing.
_ENDINGS = {
    "out_of_memory": Ending.OOM,
    "timeout": Ending.TIMEOUT,
    "lost": Ending.LOST,
    "expired": Ending.EXPIRED,
    "terminated": Ending.TERMINATED,
    # Nobody asked for it here: its driver had given it up for lost.
    "stopped": Ending.TERMINATED,
    # By hand, with the engine's own means: as good as `mill stop`.
    "cancelled": Ending.STOPPED,
}


def wait(job: Job, reasons: Sequence[str]) -> Job:
    """Replace the reasons for waiting by the newest ones."""
    kept = list(job.status.reasons)
    while kept and kept[-1].startswith(WAITING):
        kept.pop()
    return job.changed(reasons=_bounded([*kept, *(WAITING + reason for reason in reasons)]))


def place(
    job: Job, placement_id: str, *, compute: str, node: str, reasons: Sequence[str], now: datetime,
    gpu_share: GpuFractions | None = None, rule: str | None = None,
) -> Job:  # fmt: skip
    job = wait(job, ()).changed(
        rule=rule, waits_for=None,
        placement_id=placement_id, compute=compute, node=node, placed_at=now, attempt=job.status.attempt + 1,
        not_before=None, ending=None, exit_code=None, signal=None, progress=None, gpu_share=gpu_share,
        failed_rank=None,
    )  # fmt: skip
    return _move(job, JobState.PLACED, *reasons)


def take_environment(job: Job, build: Job) -> Job:
    """Use this build of its environment; the time since it was queued counts as `environment`."""
    since = job.status.requeued_at or job.queued_at
    waited = build.status.ended_at if build.status.ended_at and build.status.ended_at > since else None
    return job.changed(environment_job=build.id, environment_commit=build.status.output_commit, environment_at=waited)


def fill(job: Job, now: datetime) -> Job:
    """All data of the job is cached near the compute."""
    return job.changed(filled_at=now) if job.status.filled_at is None else job


def observe(job: Job, report: Report, now: datetime) -> Job:
    """Apply an agent's report about the current placement. Idempotent."""
    if report.state is PlacementState.PREPARING:
        job = _move(job, JobState.PREPARING) if job.status.state is JobState.PLACED else job
        return wait(job, [report.waiting] if report.waiting else ())
    job = _started(wait(job, ()), report, now)
    if report.state in (PlacementState.SAVING, PlacementState.FINISHED):
        job = _exited(job, report, now)
    return _finished(job, report, now) if report.state is PlacementState.FINISHED else job


def leave_alone(job: Job, reason: str) -> Job:
    """The agent is silent; wait until the placement has expired."""
    return job.changed(reasons=_bounded([*job.status.reasons, reason]))


def request_stop(job: Job, reason: str, now: datetime, ending: Ending | None = None) -> Job:
    """Request a stop. The job keeps its state until its agent reports the end, which then counts as `ending`.

    What is stopped for a problem has failed for this reason.
    """
    problem = reason if ending is Ending.PROBLEM else job.status.problem
    reasons = _bounded([*job.status.reasons, reason])
    return job.changed(stop_requested_at=now, ending=ending, reasons=reasons, problem=problem)


def preempt(job: Job, rule: str, now: datetime) -> Job:
    """It is stopped for another job, and queued again when its agent says that it has ended."""
    reason = f"Preempted: {_TAKERS.get(rule, 'another job')} needs its room."
    after = job.changed(stop_requested_at=now, ending=Ending.PREEMPTED, rule=rule)
    return _move(after, JobState.PREEMPTED, reason)


def suspend(job: Job, by: str, now: datetime) -> Job:
    """Keep it out of the queue until it is resumed. One that runs is stopped first, with its grace to save.

    Conflict if it has ended, or is being stopped for good.
    """
    status = job.status
    if status.state.is_finished:
        raise Conflict(f"Job {job.name} ({job.id}) has ended: it is {status.state.value}.")
    if status.stop_requested_at is not None and status.ending not in _COMES_BACK:
        raise Conflict(f"Job {job.name} ({job.id}) is being stopped.")
    if status.suspended_at is not None:
        return job
    job = job.changed(suspended_at=now)
    if status.state is JobState.QUEUED:
        return _move(wait(job, ()).changed(rule=None, waits_for=None), JobState.SUSPENDED, f"Suspended by {by}.")
    if status.stop_requested_at is None:
        job = job.changed(stop_requested_at=now, ending=Ending.SUSPENDED)
    return job.changed(reasons=_bounded([*status.reasons, f"Suspended by {by}: it is being stopped."]))


def resume(job: Job, by: str, now: datetime) -> Job:
    """Back to its place in the queue; one that is still being stopped goes there when that is done.

    Conflict if it is not suspended.
    """
    if job.status.suspended_at is None:
        raise Conflict(f"Job {job.name} ({job.id}) is not suspended: it is {job.status.state.value}.")
    job = job.changed(suspended_at=None)
    if job.status.state is JobState.SUSPENDED:
        return _move(job.changed(requeued_at=now, not_before=None), JobState.QUEUED, f"Resumed by {by}.")
    return job.changed(reasons=_bounded([*job.status.reasons, f"Resumed by {by}: it is queued once it has stopped."]))


def cancel(job: Job, reason: str, now: datetime) -> Job:
    """End a job without a placement at once."""
    return _move(wait(job, ()).changed(ended_at=now), JobState.CANCELLED, reason)


def fail(job: Job, problem: str, now: datetime) -> Job:
    """Fail a job without a placement that can never have one."""
    after = wait(job, ()).changed(ended_at=now, problem=problem, ending=Ending.PROBLEM)
    return _move(after, JobState.FAILED, problem)


def requeue(job: Job, again: Again, ending: Ending, now: datetime) -> Job:
    """Put the job back to its place in the queue; only the record of the attempt stays."""
    job = job.changed(
        placement_id=None, compute=None, node=None, requeued_at=now, not_before=again.at, ending=ending,
        retried=job.status.retried + again.counted, losses=job.status.losses + ending.is_loss,
        rule=None, waits_for=None,
        stop_requested_at=None, placed_at=None, filled_at=None, started_at=None, exited_at=None,
        environment_commit=None, environment_at=None, problem=None,
    )  # fmt: skip
    if job.status.suspended_at is not None:
        return _move(job, JobState.SUSPENDED, "Suspended.")
    return _move(job, JobState.QUEUED, again.reason)


def run_out(job: Job, silent: str, now: datetime) -> Job:
    """Its placement has certainly run out; `silent` says since when nothing was heard of it."""
    if job.status.ending is Ending.PREEMPTED:
        return _requeue_preempted(job, now)
    if job.status.ending is Ending.SUSPENDED:
        return requeue(job, Again(None, counted=False, reason="Queued again."), Ending.SUSPENDED, now)
    if job.status.stop_requested_at is not None and job.status.ending is None:
        after = job.changed(ended_at=now, ending=Ending.STOPPED)
        return _move(after, JobState.CANCELLED, f"{silent}; the job was being stopped.")
    return _not_succeeded(job, Ending.EXPIRED, silent, Report(PlacementState.FINISHED), now)


def ending_of(job: Job, report: Report) -> tuple[Ending | None, str]:
    """How a finished attempt ended, and in which words; None for success."""
    if job.status.ending is Ending.PREEMPTED:
        # One that ended well by itself before it was told to stop has succeeded.
        ended_well = report.exit_code == 0 and report.reason is None and report.problem is None
        return (None, "Succeeded.") if ended_well else (Ending.PREEMPTED, "Preempted.")
    if job.status.ending is Ending.SUSPENDED:
        ended_well = report.exit_code == 0 and report.reason is None and report.problem is None
        return (None, "Succeeded.") if ended_well else (Ending.SUSPENDED, "Suspended.")
    if job.status.stop_requested_at is not None:
        return _stopped(job)
    ending, said = _ended_by_itself(job, report)
    if report.failed_rank is None or ending is None:
        return ending, said
    return ending, f"rank {report.failed_rank} of {job.spec.processes}: {said}"


def _stopped(job: Job) -> tuple[Ending, str]:
    ending = job.status.ending
    if ending is None:
        return Ending.STOPPED, "Stopped."
    if ending is Ending.PROBLEM and job.status.problem:
        return ending, job.status.problem
    return ending, _too_long(job)


def _ended_by_itself(job: Job, report: Report) -> tuple[Ending | None, str]:
    ending = _ENDINGS.get(report.reason or "")
    if ending is Ending.OOM:
        return ending, f"killed for exceeding its memory limit{_memory(job)}"
    if ending is Ending.TIMEOUT:
        return ending, _too_long(job)
    if report.problem:
        return ending or Ending.PROBLEM, report.problem
    if ending is not None:
        return ending, f"the attempt was {ending.value}"
    if report.signal is not None:
        return Ending.SIGNAL, f"killed by signal {report.signal}{_signal_name(report.signal)}"
    if report.exit_code is None:
        return Ending.PROBLEM, "The exit status of the command is unknown."
    if report.exit_code != 0:
        return Ending.EXIT, f"exit code {report.exit_code}"
    return None, "Succeeded."


def _started(job: Job, report: Report, now: datetime) -> Job:
    if report.state is PlacementState.FINISHED and report.started_at is None:
        return job  # it ended before its command began
    if job.status.state not in (JobState.PLACED, JobState.PREPARING):
        return job
    started_at = _between(job.status.placed_at, report.started_at or now, now)
    filled_at = min(job.status.filled_at, started_at) if job.status.filled_at else started_at
    return _move(job.changed(started_at=started_at, filled_at=filled_at), JobState.RUNNING)


def _exited(job: Job, report: Report, now: datetime) -> Job:
    if job.status.exited_at is not None or job.status.started_at is None:
        return job
    exited_at = _between(job.status.started_at, report.exited_at or now, now)
    return job.changed(exited_at=exited_at, exit_code=report.exit_code, signal=report.signal)


def _finished(job: Job, report: Report, now: datetime) -> Job:
    if report.checkpoint_problem:
        job = job.changed(reasons=_bounded([*job.status.reasons, report.checkpoint_problem]))
    ending, said = ending_of(job, report)
    if ending is None:
        return _end(job, JobState.SUCCEEDED, None, said, report, now)
    if ending is Ending.STOPPED:
        return _end(job, JobState.CANCELLED, ending, said, report, now)
    if ending is Ending.PREEMPTED:
        return _requeue_preempted(job.changed(exit_code=report.exit_code, signal=report.signal), now)
    if ending is Ending.SUSPENDED:
        after = job.changed(exit_code=report.exit_code, signal=report.signal)
        return requeue(after, Again(None, counted=False, reason="Queued again."), Ending.SUSPENDED, now)
    return _not_succeeded(job, ending, said, report, now)


def _not_succeeded(job: Job, ending: Ending, said: str, report: Report, now: datetime) -> Job:
    verdict = after_ending(job, ending, said, report.exit_code, now)
    if isinstance(verdict, Again):
        return requeue(job.changed(exit_code=report.exit_code, signal=report.signal), verdict, ending, now)
    return _end(job, JobState.FAILED, ending, verdict.reason, report, now)


def _requeue_preempted(job: Job, now: datetime) -> Job:
    """It keeps its place in line. How often it was preempted lately counts (docs/design/014, o)."""
    recent = [moment for moment in job.status.preempted_at if now.timestamp() - moment < WINDOW]
    after = requeue(job, Again(None, counted=False, reason="Queued again."), Ending.PREEMPTED, now)
    return after.changed(preemptions=job.status.preemptions + 1, preempted_at=(*recent, now.timestamp()))


def _end(job: Job, state: JobState, ending: Ending | None, reason: str, report: Report, now: datetime) -> Job:
    job = job.changed(
        ended_at=now, exit_code=report.exit_code, signal=report.signal, ending=ending,
        output_commit=report.output_commit, problem=reason if state is JobState.FAILED else None,
        failed_rank=report.failed_rank, step_made=report.step_made,
    )  # fmt: skip
    return _move(job, state, reason)


def _too_long(job: Job) -> str:
    return f"exceeded its time limit of {format_seconds(job.spec.timeout_seconds)}"


def _memory(job: Job) -> str:
    return f" of {format_bytes(job.spec.resources.memory_bytes)}" if job.spec.resources.memory_bytes else ""


def _signal_name(number: int) -> str:
    return f" ({Signals(number).name})" if number in {known.value for known in Signals} else ""


def _between(earliest: datetime | None, moment: datetime, latest: datetime) -> datetime:
    """Clamp an agent's time, whose clock may be wrong, to the interval seen by the server."""
    return min(max(moment, earliest or moment), latest)


def _move(job: Job, to: JobState, *reasons: str) -> Job:
    if (job.status.state, to) not in TRANSITIONS:
        raise Conflict(
            f"Job {job.name} ({job.id}) is {job.status.state.value} and cannot become {to.value}.",
            story=list(job.status.reasons),
        )
    return job.changed(state=to, reasons=_bounded([*job.status.reasons, *reasons]))


def _bounded(reasons: Sequence[str]) -> tuple[str, ...]:
    """Keep the first reason and the newest ones."""
    if len(reasons) <= MAX_REASONS:
        return tuple(reasons)
    return (reasons[0], *reasons[-(MAX_REASONS - 1) :])
