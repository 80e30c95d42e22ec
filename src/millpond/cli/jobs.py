"""`mill list`, `get`, `why`, `wait`, `stop`, `delete`, `undelete`: jobs."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.following import end_with, say_state
from millpond.cli.output import CommitId, Seconds
from millpond.cli.session import Session
from millpond.client.jobs import (
    delete_job,
    get_job,
    list_jobs,
    stop_job,
    undelete_job,
    wait_for_job,
    why_job,
)
from millpond.model.job import JobState
from millpond.model.quantity import format_bytes, format_gpus, format_seconds, parse_seconds
from millpond.wire.work import Job

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="JOB", help="Its name (the newest of that name), NAME#2, or its id.")]


@command(app, "list")
def list_all(
    mill: Session,
    state: Annotated[JobState | None, typer.Option(help="Only jobs in this state.")] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own.")] = False,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those in the bin.")] = False,
    all_projects: Annotated[bool, typer.Option("--all-projects", "-A", help="Of every project you may see.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", help="How many at most.", min=1)] = 100,
) -> None:
    """List jobs, newest first."""
    jobs = list_jobs(
        mill.api,
        project=None if all_projects else mill.project,
        state=state.value if state else None,
        deleted=deleted,
        mine=mine,
        at_most=limit,
    )
    mill.out.items(
        jobs,
        [
            ("JOB", lambda j: j.written),
            ("ID", lambda j: j.id),
            *([("PROJECT", lambda j: j.project)] if all_projects else []),
            ("STATE", lambda j: j.state),
            ("USER", lambda j: j.created_by),
            ("COMPUTE", lambda j: j.compute),
            ("QUEUED", lambda j: j.queued_at),
            ("RUNNING", lambda j: _seconds(j.ledger.run)),
            ("TOTAL", lambda j: Seconds(j.ledger.total)),
        ],
        empty="There are no jobs here yet. Submit one: mill submit -- python train.py",
    )


@command(app, "get")
def get(mill: Session, job: Name) -> None:
    """Show one job."""
    show_job(mill, get_job(mill.api, mill.project, job))


@command(app, "why")
def why(mill: Session, job: Name) -> None:
    """Say why a job is in the state it is in."""
    answer = why_job(mill.api, mill.project, job)
    if mill.out.as_json:
        mill.out.shape(answer, [])
        return
    mill.out.line(answer.state.value)
    for reason in answer.reasons:
        mill.out.line(f"  {reason}" if mill.out.for_people else reason)


@command(app, "wait")
def wait(
    mill: Session,
    job: Name,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Wait at most this long, like 10m.")] = None,
) -> None:
    """Wait until a job has ended. Exit code: 0 succeeded, 100 failed, 101 not finished, 103 cancelled."""
    found = get_job(mill.api, mill.project, job)
    seconds = None if timeout is None else parse_seconds(timeout)
    ended = wait_for_job(mill.api, found.project, found.id, timeout=seconds, changed=lambda j: say_state(mill, j))
    if mill.out.as_json:
        mill.out.shape(ended, [])
    end_with(mill, ended)


@command(app, "stop")
def stop(mill: Session, job: Name) -> None:
    """End a job and keep everything it made."""
    stopped = stop_job(mill.api, mill.project, job)
    state = stopped.state.value if stopped.state.is_finished else "being stopped"
    mill.out.note(f"{stopped.written} ({stopped.id}) is {state}.")
    if mill.out.as_json:
        mill.out.shape(stopped, [])


@command(app, "delete")
def delete(
    mill: Session, job: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Move a job and its run to the bin, for 30 days; a job that has not ended is ended first."""
    found = get_job(mill.api, mill.project, job)
    running = "" if found.state.is_finished else f", which is {found.state.value}"
    mill.confirm(f"Delete the job {found.written} ({found.id}){running}?", yes=yes)
    deleted = delete_job(mill.api, found.project, found.id)
    mill.out.note(f"{found.written} is in the bin. Bring it back: mill undelete {deleted.id}")
    if mill.out.as_json:
        mill.out.shape(deleted, [])


@command(app, "undelete")
def undelete(mill: Session, job: Name) -> None:
    """Bring a job and its run back from the bin."""
    # A name means the newest job that is not in the bin; here it means the newest that is.
    binned = list_jobs(mill.api, project=mill.project, deleted=True)
    found = next((j for j in binned if job in (j.id, j.name, j.written, f"{j.name}#{j.number}")), None)
    back = undelete_job(mill.api, mill.project, found.id if found else job)
    mill.out.note(f"{back.written} ({back.id}) is back.")
    if mill.out.as_json:
        mill.out.shape(back, [])


def show_job(mill: Session, job: Job) -> None:
    ledger = job.ledger
    parts = [(n, getattr(ledger, n)) for n in ("queue", "fill", "environment", "run", "save")]
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
            ("command", shlex.join(job.command)),
            ("data", [f"{i.dataset}@{i.commit_id[:12]} at ${i.env}" for i in job.inputs]),
            ("wants", _wants(job)),
            ("compute", job.compute),
            ("node", job.node),
            ("image", job.image),
            ("code", CommitId(job.code_commit) if job.code_commit else None),
            ("outputs", CommitId(job.output_commit) if job.output_commit else None),
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


def _wants(job: Job) -> list[str]:
    wants = [f"{job.cpu} CPUs"] if job.cpu else []
    wants += [f"{format_bytes(job.memory_bytes)} of memory"] if job.memory_bytes else []
    return wants + ([f"{format_gpus(job.gpu_hundredths)} GPUs"] if job.gpu_hundredths else [])


def _seconds(value: float | None) -> Seconds | None:
    return None if value is None else Seconds(value)
