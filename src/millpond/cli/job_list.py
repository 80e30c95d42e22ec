"""`mill list`: jobs of a project, or of all."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.jobs import how_it_ended
from millpond.cli.session import Session
from millpond.client.jobs import list_jobs
from millpond.model.job import JobState
from millpond.model.job_spec import JobKind
from millpond.model.quantity import format_gpus
from millpond.wire.jobs import Job

app = typer.Typer()

# Rows of a table without --limit.
_SHOWN = 100
# What a narrow terminal does without, in this order.
_DROPPED = ("ID", "SERVICE URL(S)", "IMAGE", "TYPE", "USER")


@command(app, "list")
def list_all(
    mill: Session,
    text: Annotated[str | None, typer.Argument(help="Part of a name, or the beginning of an id.")] = None,
    state: Annotated[JobState | None, typer.Option(help="Only jobs in this state.")] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own jobs.")] = False,
    user: Annotated[str | None, typer.Option(help="Only jobs of this user.")] = None,
    compute: Annotated[str | None, typer.Option(help="Only jobs on this compute.")] = None,
    kind: Annotated[JobKind | None, typer.Option(help="Only jobs of this kind.")] = None,
    deleted: Annotated[bool, typer.Option("--deleted", help="List the bin instead.")] = False,
    all_projects: Annotated[
        bool, typer.Option("--all-projects", "-A", help="List jobs of every project you can see.")
    ] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", metavar="N", help="Number of jobs to list. Default: 100; with --json, all.", min=1
        ),
    ] = None,
) -> None:
    """List jobs, newest first.

    Example: mill list --state running --mine
    """
    text = None if text == "jobs" else text  # as Run:AI has it: `mill list jobs`
    shown = limit if limit or mill.out.as_json else _SHOWN
    narrowed = any((text, state, mine, user, compute, kind, deleted))
    found = list_jobs(
        mill.api,
        project=None if all_projects else mill.project,
        state=state.value if state else None,
        deleted=deleted,
        mine=mine,
        user=user,
        compute=compute,
        kind=kind.value if kind else None,
        text=text,
        at_most=None if shown is None else shown + 1,
    )
    jobs = list(found)
    mill.out.items(
        jobs[:shown],
        [
            ("NAME", lambda j: j.written),
            ("STATUS", _status),
            ("AGE", lambda j: j.queued_at),
            ("NODE", _node),
            ("IMAGE", lambda j: j.spec.image),
            ("TYPE", lambda j: j.spec.kind),
            ("PROJECT", lambda j: j.project),
            ("USER", lambda j: j.created_by),
            ("GPUs", _all_gpus),
            ("SERVICE URL(S)", lambda j: _service_url(mill, j)),
            ("ID", lambda j: j.id),
        ],
        drop=_dropped(all_projects=all_projects),
        empty="No job matches." if narrowed else "No jobs yet. Submit one: mill submit -- python train.py",
    )
    if shown is not None and len(jobs) > shown:
        mill.out.note(f"Showing the newest {shown}. More: --limit N. All: --json.")


def _dropped(*, all_projects: bool) -> tuple[str, ...]:
    """All jobs of one project have the same: it goes first then."""
    return _DROPPED if all_projects else ("PROJECT", *_DROPPED)


def _status(job: Job) -> str:
    detail = _detail(job)
    return f"{job.state.value} ({detail})" if detail else job.state.value


def _detail(job: Job) -> str | None:
    """Detail of the state: how the job ended, its progress, or which attempt comes next."""
    if job.state is JobState.RUNNING and job.progress is not None:
        return f"{job.progress:.0%}"
    if job.state is JobState.QUEUED and job.attempt:
        return f"attempt {job.attempt + 1}"
    return how_it_ended(job) if job.state.is_finished else None


def _node(job: Job) -> str | None:
    """Where it runs or ran: the compute, and its node if that has another name."""
    if not job.node or job.node == job.compute:
        return job.compute
    return f"{job.compute}/{job.node}"


def _service_url(mill: Session, job: Job) -> str | None:
    """The page on which the ports of a running job are opened."""
    if not job.spec.ports or job.state.is_finished:
        return None
    return f"{mill.api.base_url}/projects/{job.project}/jobs/{job.id}"


def _all_gpus(job: Job) -> str | None:
    if not job.spec.gpu_hundredths:
        return None
    return (f"{job.spec.processes} x " if job.spec.processes else "") + format_gpus(job.spec.gpu_hundredths)
