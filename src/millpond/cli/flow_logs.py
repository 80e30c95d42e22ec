"""`mill flow logs`: what the steps of a run wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.flow_arguments import RunArgument, run_name
from millpond.cli.flow_watch import end_with
from millpond.cli.session import Session
from millpond.client.flows.flow_steps import find_steps
from millpond.client.flows.run_logs import StepLog, follow_logs, read_step_log, step_logs
from millpond.client.flows.runs import get_run
from millpond.wire.flows import FlowRun

app = typer.Typer()

_WITH_LOGS = ("command", "component")


@command(app, "logs")
def logs(
    mill: Session,
    run: RunArgument,
    step: Annotated[
        str | None, typer.Argument(metavar="[STEP[-INDEX]]", help="Step, or one of its executions (default: all).")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the steps end; the exit code is that of the run.")
    ] = False,
) -> None:
    """Print the logs of a run's steps. Where they are several, each line begins with its step.

    Of a remembered step, the log is that of the step which made its outputs.

    Example: mill flow logs words#3 show-0 --follow
    """
    found = get_run(mill.api, mill.project, run_name(run))
    steps = find_steps(found, step) if step is not None else list(found.steps)
    several = sum(one.kind in _WITH_LOGS for one in steps) > 1
    if follow:
        _follow(mill, found, step, several=several)
        return
    written = step_logs(mill.api, found, steps)
    if not written:
        mill.out.note(f"No logs: no job of {step or found.written} has begun.")
    if mill.out.as_json:
        _show_json(mill, found, written)
        return
    for log in written:
        if log.remembered_from:
            mill.out.note(f"{log.label} was remembered from {log.remembered_from}:")
        _print(mill, found, log, prefix=f"{log.label} | ".encode() if several else b"")


def _print(mill: Session, run: FlowRun, log: StepLog, *, prefix: bytes) -> None:
    """Raw bytes: a step may write anything."""
    raw = mill.out.raw
    at_start = True
    for content in read_step_log(mill.api, run.project, log):
        if not prefix:
            raw.write(content)
            continue
        for line in content.splitlines(keepends=True):
            raw.write(prefix + line if at_start else line)
            at_start = line.endswith(b"\n")
    if prefix and not at_start:
        raw.write(b"\n")
    raw.flush()


def _show_json(mill: Session, run: FlowRun, logs: Sequence[StepLog]) -> None:
    items = [
        {
            "step": log.label,
            "job": log.job,
            "remembered_from": log.remembered_from,
            "text": b"".join(read_step_log(mill.api, run.project, log)).decode("utf-8", "replace"),
        }
        for log in logs
    ]
    mill.out.json({"items": items})


def _follow(mill: Session, run: FlowRun, step: str | None, *, several: bool) -> None:
    for name, line in follow_logs(mill.api, run, step):
        if mill.out.as_json:
            mill.out.json({"step": name, "text": line.decode("utf-8", "replace")})
            continue
        # A step that runs over a list is known as such only when it has begun.
        named = several or (step is not None and name.startswith(f"{step}["))
        prefix = f"{name} | ".encode() if named else b""
        mill.out.raw.write(prefix + line + b"\n")
        mill.out.raw.flush()
    if step is None:
        end_with(mill, get_run(mill.api, run.project, run.id))
