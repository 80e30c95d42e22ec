"""`mill pending` and `mill plan`: the waiting line, and what would change it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.values import Seconds
from millpond.client.scheduling import list_pending, plan_what_if
from millpond.client.what_if_file import read_what_if
from millpond.model.quantity import format_gpus
from millpond.wire.scheduling import PendingJob, Replayed, ReplayedCluster, WhatIfAnswer

app = typer.Typer()

# Rows of a table without --limit.
_SHOWN = 50
_DROPPED = ("ID", "SUBMITTED", "PRIORITY")


@command(app, "pending")
def pending(
    mill: Session,
    all_projects: Annotated[bool, typer.Option("--all-projects", "-A", help="List jobs of every project.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", metavar="N", help="Number of jobs to list. Default: 50; with --json, all.", min=1
        ),
    ] = None,
) -> None:
    """List the jobs that wait, the next one first.

    Positions count the jobs of all projects. The expected start is by the time limits of running jobs: it is unknown
    where one has none.

    Example: mill pending -A
    """
    found = list(list_pending(mill.api, None if all_projects else mill.project))
    shown = limit or (len(found) if mill.out.as_json else _SHOWN)
    mill.out.items(
        found[:shown],
        [
            ("POSITION", lambda one: one.position),
            ("PROJECT", lambda one: one.project or "-"),
            ("JOB", lambda one: one.job or "(another project's)"),
            ("ID", lambda one: one.id),
            ("GPUS", lambda one: format_gpus(round(one.gpus * 100))),
            ("PRIORITY", lambda one: one.priority),
            ("SUBMITTED", lambda one: one.submitted_at),
            ("RULE", lambda one: one.rule),
            ("EXPECTED START", _start),
            ("REASON", lambda one: one.reason),
        ],
        empty="No jobs wait.",
        drop=_DROPPED,
    )
    if len(found) > shown and not mill.out.as_json:
        mill.out.note(f"{shown} of {len(found)} jobs. List more: mill pending --limit {len(found)}")


@command(app, "plan")
def plan(
    mill: Session,
    what_if: Annotated[
        Path, typer.Option("--what-if", metavar="FILE", help="YAML or JSON file with what would be different.")
    ],
) -> None:
    """Replay jobs with other quotas, settings or nodes, and compare waits, goodput and preemptions.

    Nothing is changed. For administrators.

    Example: mill plan --what-if more-nodes.yaml
    """
    answer = plan_what_if(mill.api, read_what_if(what_if))
    if mill.out.as_json:
        mill.out.json(answer.model_dump(mode="json"))
        return
    mill.out.items(
        _rows(answer),
        [
            ("PROJECT", lambda row: row[0]),
            ("", lambda row: row[1]),
            ("NOW", lambda row: row[2]),
            ("WHAT IF", lambda row: row[3]),
        ],
        empty="No jobs to replay.",
    )


def _start(one: PendingJob) -> Any:
    return one.expected_start or "unknown"


def _rows(answer: WhatIfAnswer) -> list[tuple[str, str, Any, Any]]:
    if not answer.now.jobs:
        return []
    all_jobs = [("all", *row) for row in [*_compared(answer.now, answer.then), *_cluster(answer.now, answer.then)]]
    return [*all_jobs, *((one.project, *row) for one in answer.projects for row in _compared(one.now, one.then))]


def _compared(now: Replayed, then: Replayed) -> list[tuple[str, Any, Any]]:
    return [
        ("jobs started", f"{now.started} of {now.jobs}", f"{then.started} of {then.jobs}"),
        ("mean wait", Seconds(now.mean_wait), Seconds(then.mean_wait)),
        ("95 % wait at most", Seconds(now.p95_wait), Seconds(then.p95_wait)),
        ("preemptions", now.preemptions, then.preemptions),
    ]


def _cluster(now: ReplayedCluster, then: ReplayedCluster) -> list[tuple[str, Any, Any]]:
    return [
        ("goodput", f"{now.goodput:.1%}", f"{then.goodput:.1%}"),
        ("lost work", f"{now.lost_share:.1%}", f"{then.lost_share:.1%}"),
        ("last job ends after", Seconds(now.seconds), Seconds(then.seconds)),
    ]
