"""`mill get`, `attempts`, `events`, `spec`, `why`, `wait`, `stop`, `suspend`, `resume`, `delete`, `undelete`: jobs."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from typing import Annotated

import typer

from millpond.cli.bulk_result import Changed, changed_of
from millpond.cli.command import command
from millpond.cli.follow import StateNotes, say_end
from millpond.cli.scores import show_scores
from millpond.cli.session import Session
from millpond.cli.values import CommitId, Seconds
from millpond.client.clusters import get_cluster
from millpond.client.endpoints import why_endpoint
from millpond.client.http import Api
from millpond.client.jobs import (
    delete_jobs,
    get_job,
    list_attempts,
    list_events,
    list_jobs,
    resume_jobs,
    stop_jobs,
    suspend_jobs,
    undelete_jobs,
    wait_for_job,
    why_job,
)
from millpond.client.task_file import write_task
from millpond.client.workspaces import why_workspace
from millpond.errors import BadRequest, NotFound
from millpond.model.job import Ending, JobState
from millpond.model.job_spec import JobSpec, Launcher
from millpond.model.quantity import format_bytes, format_gpus, format_seconds, parse_seconds
from millpond.wire.endpoints import EndpointWhy
from millpond.wire.jobs import Attempt, Job, Rank, Why
from millpond.wire.workspace_views import WorkspaceWhy

app = typer.Typer()

_GRACE = JobSpec.grace_seconds

Names = Annotated[list[str], typer.Argument(metavar="JOB...", help="Jobs: NAME, NAME#N or id.")]
Name = Annotated[str, typer.Argument(metavar="JOB", help="Job: NAME (the newest), NAME#N or id.")]
# As kubectl and Run:AI have it: `mill get job train`.
WithNoun = Annotated[list[str], typer.Argument(metavar="[job] JOB", help="Job: NAME (the newest), NAME#N or id.")]


@command(app, "get")
def get(mill: Session, job: WithNoun) -> None:
    """Show one job.

    Example: mill get train
    """
    show_job(mill, get_job(mill.api, mill.project, _one_job(job)))


@command(app, "describe")
def describe(mill: Session, job: WithNoun) -> None:
    """Show one job with its reasons and events.

    Example: mill describe job train
    """
    found = get_job(mill.api, mill.project, _one_job(job))
    if mill.out.as_json:
        past = list_events(mill.api, found.project, found.id)
        mill.out.json({**found.model_dump(mode="json"), "events": [one.model_dump(mode="json") for one in past]})
        return
    show_job(mill, found)
    for reason in found.reasons:
        mill.out.line(f"  {reason}")
    events(mill, found.id)


@command(app, "attempts")
def attempts(mill: Session, job: Name) -> None:
    """List the attempts to run a job: where, when, and how each ended.

    Example: mill attempts train
    """
    mill.out.items(
        list_attempts(mill.api, mill.project, job),
        [
            ("ATTEMPT", lambda a: a.number),
            ("ID", lambda a: a.id),
            ("STATE", lambda a: a.state if a.ended_at is None else "ended"),
            ("HOW", lambda a: how_it_ended(a)),
            ("COMPUTE", lambda a: a.compute),
            ("NODE", lambda a: a.node),
            ("PLACED", lambda a: a.created_at),
            ("STARTED", lambda a: a.started_at),
            ("ENDED", lambda a: a.exited_at or a.ended_at),
            ("WHY", lambda a: a.problem),
        ],
        empty="Not placed yet. See why: mill why JOB",
    )


@command(app, "why")
def why(mill: Session, job: Name) -> None:
    """Say why a job is in the state it is in: the rule, who holds what it needs, when it may start.

    Also of an endpoint: its replicas, what scaled them, and what becomes of its canary; of a cluster; and of a
    workspace: how it was made, and what it waits for.

    Example: mill why train
    """
    try:
        answer = why_job(mill.api, mill.project, job)
    except NotFound:
        others = (why_endpoint, why_workspace)
        if not (any(_why_other(mill, job, ask) for ask in others) or _why_cluster(mill, job)):
            raise
        return
    if mill.out.as_json:
        mill.out.shape(answer, [])
        return
    mill.out.line(answer.state.value)
    for reason in [*answer.reasons, *_blockers(answer), *_expected(answer)]:
        mill.out.line(f"  {reason}" if mill.out.for_people else reason)
    show_scores(mill.out, answer.places)


def _why_cluster(mill: Session, name: str) -> bool:
    """False if there is no cluster of that name."""
    try:
        found = get_cluster(mill.api, mill.project, name)
    except NotFound:
        return False
    if mill.out.as_json:
        mill.out.shape(found, [])
        return True
    mill.out.line(found.state.value)
    newest = [one.what for one in found.history[:5]]
    for reason in dict.fromkeys([*found.reasons, found.wanted_reason, *newest]):
        mill.out.line(f"  {reason}" if mill.out.for_people else reason)
    return True


def _why_other(mill: Session, name: str, ask: Callable[[Api, str, str], EndpointWhy | WorkspaceWhy]) -> bool:
    """False if there is none of that name."""
    try:
        answer = ask(mill.api, mill.project, name)
    except NotFound:
        return False
    if mill.out.as_json:
        mill.out.shape(answer, [])
        return True
    mill.out.line(answer.state.value)
    for reason in answer.reasons:
        mill.out.line(f"  {reason}" if mill.out.for_people else reason)
    return True


def _blockers(answer: Why) -> list[str]:
    return [
        f"Held by {one.job or 'another project'}: {format_gpus(round(one.gpus * 100))} GPUs"
        f"{', over quota' if one.over_quota else ''}{f', until {one.ends_at:%H:%M} UTC' if one.ends_at else ''}."
        for one in answer.blockers
    ]


def _expected(answer: Why) -> list[str]:
    if answer.earliest_start is None:
        return []
    return [f"By the time limits of what runs, it starts by {answer.earliest_start:%Y-%m-%d %H:%M} UTC."]


@command(app, "events")
def events(mill: Session, job: Name) -> None:
    """List what happened to a job, oldest first.

    Example: mill events train
    """
    mill.out.items(
        list_events(mill.api, mill.project, job),
        [
            ("AT", lambda e: e.at),
            ("ATTEMPT", lambda e: e.attempt),
            ("EVENT", lambda e: e.what),
            ("WHY", lambda e: e.why),
        ],
        empty="No events yet.",
    )


@command(app, "spec")
def spec(mill: Session, job: Name) -> None:
    """Print a job as a task file, to submit it again.

    Example: mill spec train > train.yaml && mill submit -f train.yaml
    """
    found = get_job(mill.api, mill.project, job)
    if mill.out.as_json:
        mill.out.json(found.spec.to_document())
        return
    mill.out.line(write_task(found).rstrip("\n"))


@command(app, "wait")
def wait(
    mill: Session,
    jobs: Names,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Maximum time to wait, like 10m.")] = None,
) -> None:
    """Wait until jobs have ended.

    Exit code: 0 if all succeeded; otherwise that of the first that did not: 100 failed, 101 not finished,
    103 cancelled.

    Example: mill wait train evaluate --timeout 2h
    """
    found = [get_job(mill.api, mill.project, job) for job in jobs]
    deadline = None if timeout is None else time.monotonic() + parse_seconds(timeout)
    ended = []
    say_state = StateNotes(mill)
    for job in found:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        ended.append(wait_for_job(mill.api, job.project, job.id, timeout=left, changed=say_state))
    if mill.out.as_json and len(ended) == 1:
        mill.out.shape(ended[0], [])
    elif mill.out.as_json:
        mill.out.json([job.model_dump(mode="json") for job in ended])
    codes = [say_end(mill, job) for job in ended]
    if any(codes):
        raise typer.Exit(next(code for code in codes if code))


@command(app, "stop")
def stop(mill: Session, jobs: Names) -> None:
    """Stop jobs and keep everything they made.

    Example: mill stop train evaluate
    """
    stopped = changed_of(stop_jobs(mill.api, mill.project, jobs), "stopped")
    for job in stopped.jobs:
        state = job.state.value if job.state.is_finished else "being stopped"
        mill.out.note(f"{job.written} ({job.id}) is {state}.")
    _show_changed(mill, stopped)


@command(app, "suspend")
def suspend(mill: Session, jobs: Names) -> None:
    """Suspend jobs until they are resumed.

    A queued job is held. A running job gets SIGTERM and its grace to save a checkpoint; `mill resume` continues there.

    Example: mill suspend train
    """
    suspended = changed_of(suspend_jobs(mill.api, mill.project, jobs), "suspended")
    for job in suspended.jobs:
        state = "suspended" if job.state is JobState.SUSPENDED else "being suspended"
        mill.out.note(f"{job.written} ({job.id}) is {state}. Continue: mill resume {job.id}")
    _show_changed(mill, suspended)


@command(app, "resume")
def resume(mill: Session, jobs: Names) -> None:
    """Resume suspended jobs.

    They are queued again and go on from their newest checkpoint.

    Example: mill resume train
    """
    resumed = changed_of(resume_jobs(mill.api, mill.project, jobs), "resumed")
    for job in resumed.jobs:
        mill.out.note(f"{job.written} ({job.id}) is {job.state.value}.")
    _show_changed(mill, resumed)


@command(app, "delete")
def delete(
    mill: Session, jobs: Names, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Move jobs and their runs to the bin, for 30 days. Running jobs are stopped first.

    Example: mill delete train
    """
    if not yes:
        found = [get_job(mill.api, mill.project, job) for job in jobs]
        mill.confirm(f"Delete {', '.join(_with_state(job) for job in found)}?", yes=yes)
        jobs = [job.id for job in found]
    deleted = changed_of(delete_jobs(mill.api, mill.project, jobs), "deleted")
    for job in deleted.jobs:
        mill.out.note(f"{job.written} moved to the bin. Restore it: mill undelete {job.id}")
    _show_changed(mill, deleted)


@command(app, "undelete")
def undelete(mill: Session, jobs: Names) -> None:
    """Restore jobs and their runs from the bin.

    Example: mill undelete train
    """
    # A name means the newest job that is not in the bin; here it means the newest that is.
    binned: dict[str, str] = {}
    for job in list_jobs(mill.api, project=mill.project, deleted=True):
        for name in (job.id, job.name, job.written, f"{job.name}#{job.number}"):
            binned.setdefault(name, job.id)
    back = changed_of(undelete_jobs(mill.api, mill.project, [binned.get(job, job) for job in jobs]), "restored")
    for job in back.jobs:
        mill.out.note(f"{job.written} ({job.id}) restored.")
    _show_changed(mill, back)


def _one_job(words: list[str]) -> str:
    """The name in `mill get train` and in `mill get job train`."""
    if len(words) == 2 and words[0] in ("job", "jobs"):
        return words[1]
    if len(words) > 1:
        raise BadRequest("Give one job.", hint=f"Like: mill get {words[-1]}")
    return words[0]


def show_job(mill: Session, job: Job) -> None:
    ledger = job.ledger
    parts = [(n, getattr(ledger, n)) for n in ("earlier", "queue", "fill", "environment", "run", "save")]
    mill.out.shape(
        job,
        [
            ("job", job.written),
            ("id", job.id),
            ("project", job.project),
            ("state", job.state),
            ("why", job.reasons[-1] if job.reasons else None),
            ("problem", job.problem),
            ("exit code", job.exit_code),
            ("signal", job.signal),
            ("ending", job.ending),
            ("processes", _processes(mill, job)),
            ("progress", None if job.progress is None else f"{job.progress:.0%}"),
            ("attempts", job.attempt if job.attempt > 1 else None),
            ("retry at", job.not_before),
            ("after", [f"{a.name} ({a.job}){':any' if a.when == 'any' else ''}" for a in job.after]),
            ("command", shlex.join(job.spec.command)),
            ("data", [f"{i.dataset}@{i.commit_id[:12]} at ${i.env}" for i in job.spec.inputs]),
            ("resources", _resources(job)),
            ("limits", _limits(job)),
            ("ports", [str(port) for port in job.spec.ports]),
            (
                "secrets",
                [name if name == variable else f"{variable}={name}" for variable, name in job.spec.secrets.items()],
            ),
            ("options", [f"{key}={value}" for key, value in job.spec.options.items()]),
            ("on", job.spec.on),
            ("template", job.template if job.template != job.spec.on else None),
            ("compute", job.compute),
            ("node", job.node),
            ("image", job.spec.image),
            ("code", CommitId(job.spec.code_commit) if job.spec.code_commit else None),
            ("environment", CommitId(job.environment_commit) if job.environment_commit else job.environment_job),
            ("outputs", CommitId(job.output_commit) if job.output_commit else None),
            ("checkpoint", CommitId(job.checkpoint_commit) if job.checkpoint_commit else None),
            ("saved", job.saved_at),
            ("run", job.run_id),
            ("by", job.created_by),
            ("queued", job.queued_at),
            ("started", job.started_at),
            ("ended", job.ended_at),
            ("in the bin", job.deleted_at),
            ("time", ", ".join(f"{name} {format_seconds(s)}" for name, s in parts if s is not None)),
            ("total", Seconds(ledger.total)),
        ],
    )


def how_it_ended(one: Job | Attempt) -> str | None:
    if one.ending is Ending.EXIT:
        return f"exit {one.exit_code}"
    if one.ending is Ending.SIGNAL:
        return f"signal {one.signal}"
    return one.ending.value if one.ending else None


def _with_state(job: Job) -> str:
    running = "" if job.state.is_finished else f", which is {job.state.value}"
    return f"the job {job.written} ({job.id}){running}"


def _show_changed(mill: Session, changed: Changed) -> None:
    """Print as JSON the one job named, or a list of them; then raise for those that failed."""
    if mill.out.as_json and changed.asked == 1 and changed.jobs:
        mill.out.shape(changed.jobs[0], [])
    elif mill.out.as_json and changed.asked > 1:
        mill.out.json([job.model_dump(mode="json") for job in changed.jobs])
    changed.check()


def _processes(mill: Session, job: Job) -> list[str]:
    """State of each process of a distributed job. JSON has it in `mill attempts`."""
    if not job.spec.ranks or mill.out.as_json:
        return []
    attempts = list_attempts(mill.api, job.project, job.id)
    ranks = attempts[-1].ranks if attempts else []
    return [_rank(one, failed=one.rank == job.failed_rank) for one in ranks] or [f"{job.spec.processes}, together"]


def _rank(one: Rank, *, failed: bool) -> str:
    how: str = one.state
    if one.state == "ended" and (one.signal or one.exit_code is not None):
        how = f"signal {one.signal}" if one.signal else f"exit {one.exit_code}"
    return f"rank {one.rank}: {how}{f' on {one.node}' if one.node else ''}{', failed first' if failed else ''}"


def _limits(job: Job) -> list[str]:
    limits = [f"{format_seconds(job.spec.timeout_seconds)} at most"] if job.spec.timeout_seconds else []
    limits += [f"{format_seconds(job.spec.grace_seconds)} to end"] if job.spec.grace_seconds != _GRACE else []
    limits += [f"priority {job.spec.priority}"] if job.spec.priority else []
    limits += [f"{job.spec.retries} retries on {', '.join(job.spec.retry_on)}"] if job.spec.retries else []
    return limits + ([f"only on {job.wanted_compute}"] if job.wanted_compute else [])


def _resources(job: Job) -> list[str]:
    asked = [f"{job.spec.cpu} CPUs"] if job.spec.cpu else []
    asked += [f"{format_bytes(job.spec.memory_bytes)} of memory"] if job.spec.memory_bytes else []
    asked += [f"GPUs: {_gpus(job)}"] if job.spec.gpu_hundredths else []
    asked += [f"GPU type {job.spec.gpu_type}"] if job.spec.gpu_type else []
    least = job.spec.min_gpu_memory_bytes
    asked += [f"{format_bytes(least)} of GPU memory"] if least else []
    asked += [f"label {key}={value}" for key, value in sorted(job.spec.node_selector.items())]
    if not job.spec.processes or (not asked and job.spec.ranks):
        return asked
    by = " of MPI" if job.spec.launcher is Launcher.MPI else ""
    return [*asked, f"{'for each of ' if asked else ''}{job.spec.processes} processes{by}"]


def _gpus(job: Job) -> str:
    """GPUs per process; for a fraction, also whether it is enforced where the job runs."""
    how = {"accounted": " (accounted, not enforced)", "enforced": " (enforced)"}.get(job.gpu_share or "", "")
    return f"{format_gpus(job.spec.gpu_hundredths)}{how}"
