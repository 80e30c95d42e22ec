"""`mill flow run|runs|wait|cancel|retry|resume|approve|reject`."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.flow_arguments import (
    FlowArgument,
    FlowName,
    RunArgument,
    TimeoutOption,
    Waiting,
    WaitOption,
    file_or_name,
    flow_name,
    run_name,
    waiting,
)
from millpond.cli.flow_local import run_here
from millpond.cli.flow_watch import end_with, watch_run
from millpond.cli.pairs import parse_pairs
from millpond.cli.session import Session
from millpond.cli.values import Seconds
from millpond.client.flows.flow_file import FlowFile
from millpond.client.flows.flow_steps import seconds
from millpond.client.flows.flows import save_flow
from millpond.client.flows.runs import (
    approve_step,
    cancel_run,
    get_run,
    has_ended,
    list_runs,
    reject_step,
    retry_run,
    start_run,
)
from millpond.errors import BadRequest
from millpond.model.flow_run import FlowRunPhase
from millpond.wire.flows import FlowRun, FlowRunCreate, FlowRunSummary

app = typer.Typer()

Step = Annotated[str, typer.Argument(metavar="STEP", help="Name of the approval.")]
Message = Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Comment to keep with the answer.")]


@command(app, "run")
def run(
    mill: Session,
    flow: FlowArgument,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[STEP.]NAME=VALUE", help="Parameter of the flow or of a step. Repeatable."),
    ] = None,
    on: Annotated[
        str | None, typer.Option("--on", metavar="TEMPLATE", help="Template or queue to run every step on.")
    ] = None,
    from_step: Annotated[
        str | None,
        typer.Option("--from", metavar="STEP", help="Start at this step, with outputs of an earlier run before it."),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="STEP", help="Run this step alone, with outputs of an earlier run.")
    ] = None,
    no_remember: Annotated[
        bool, typer.Option("--no-remember", help="Run every step, even if the same was done before.")
    ] = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = None,
    local: Annotated[bool, typer.Option("--local", help="Run the steps as processes on this machine.")] = False,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="STEP=DIRECTORY", help="With --local: folder to read for a dataset step."),
    ] = None,
) -> None:
    """Run a flow on the server. A file is saved first, as a new version if it has changed.

    With --wait, the exit code is 0 for succeeded, 100 for failed, 101 for not finished in time, 103 for cancelled.
    With --local, steps are plain processes here and datasets are folders, without a server; outputs and logs are
    kept in .mill-flow next to the file.

    Example: mill flow run flow.yaml --set epochs=1 --set train.lr=0.1 --wait
    """
    values, until = parse_pairs(given, "--set") or {}, waiting(wait, timeout)
    found = file_or_name(flow)
    if local:
        _refuse_with_local(on=on, from_step=from_step, only=only, no_remember=no_remember)
        if not isinstance(found, FlowFile):
            raise BadRequest("--local runs a file.", hint=f"Export it: mill flow export {found} -o {found.name}")
        run_here(mill, found, values, parse_pairs(data, "--data") or {})
        return
    if data:
        raise BadRequest("--data is for --local.", hint="On the server, steps read the datasets that the flow names.")
    if isinstance(found, FlowFile):
        saved = save_flow(mill.api, mill.project, found)
        if saved.is_new:
            mill.out.note(f"Flow {saved.name} saved as version {saved.version}.")
        found = FlowName(saved.name, saved.version)
    asked = {"version": found.version, "params": values, "on": on, "from": from_step, "only": only}
    request = FlowRunCreate.model_validate({**asked, "remember": not no_remember})
    show_started(mill, start_run(mill.api, mill.project, found.name, request), until)


def _refuse_with_local(**options: str | bool | None) -> None:
    names = {"on": "--on", "from_step": "--from", "only": "--only", "no_remember": "--no-remember"}
    for key, value in options.items():
        if value:
            raise BadRequest(f"Cannot combine --local with {names[key]}.", hint="A local run is the whole flow, here.")


@command(app, "runs")
def runs(
    mill: Session,
    flow: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Flow (default: all of the project).")] = None,
    state: Annotated[
        list[FlowRunPhase] | None, typer.Option("--state", help="Only runs in this state. Repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most runs to show.", min=1)] = 50,
) -> None:
    """List runs of a flow, or of all flows of the project, newest first.

    Example: mill flow runs words --state failed
    """
    name = flow_name(flow).name if flow is not None else None
    states = [one.value for one in state or []]
    mill.out.items(
        list_runs(mill.api, mill.project, flow=name, states=states, at_most=limit),
        [
            ("RUN", lambda one: one.written),
            ("STATE", lambda one: one.state),
            ("VERSION", lambda one: one.version),
            ("CREATED", lambda one: one.created_at),
            ("TIME", _took),
            ("TRIGGER", lambda one: one.trigger.type),
            ("BY", lambda one: one.trigger.by),
            ("REASON", lambda one: one.reason),
        ],
        empty=f"No runs yet. Start one: mill flow run {name or 'FILE'}",
        drop=("REASON",),
    )


def _took(run: FlowRunSummary) -> Seconds | None:
    took = seconds(run.started_at, run.ended_at)
    return Seconds(round(took, 3)) if took is not None else None


@command(app, "cancel")
def cancel(mill: Session, run: RunArgument) -> None:
    """Cancel a run: every step ends. What they made is kept.

    Example: mill flow cancel words#3
    """
    before = get_run(mill.api, mill.project, run_name(run))
    found = cancel_run(mill.api, mill.project, before.id)
    _show_json(mill, found)
    ended = f"{found.written} has ended before: {before.state}."
    mill.out.note(ended if has_ended(before) else f"{found.written} is being cancelled.")


@command(app, "retry")
def retry(
    mill: Session,
    run: RunArgument,
    from_step: Annotated[
        str | None, typer.Option("--from", metavar="STEP", help="Run this step and all behind it again.")
    ] = None,
    wait: WaitOption = False,
    timeout: TimeoutOption = None,
) -> None:
    """Go on with a run that has ended: steps that did not succeed run again, or all from one step on.

    Example: mill flow retry words#3 --from split --wait
    """
    until = waiting(wait, timeout)
    show_started(mill, retry_run(mill.api, mill.project, run_name(run), from_step), until)


@command(app, "resume")
def resume(mill: Session, run: RunArgument, wait: WaitOption = False, timeout: TimeoutOption = None) -> None:
    """Resume a run that failed or was cancelled, where it stopped. One that goes on is left alone.

    Example: mill flow resume words#3 --wait
    """
    until = waiting(wait, timeout)
    found = get_run(mill.api, mill.project, run_name(run))
    if has_ended(found):
        found = retry_run(mill.api, mill.project, found.id)
    show_started(mill, found, until)


@command(app, "wait")
def wait_for_run(
    mill: Session,
    run: RunArgument,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Maximum time to wait, like 2h.")] = None,
) -> None:
    """Wait until a run has ended, and show its steps, like one that a trigger started.

    Exit code: 0 succeeded, 100 failed, 101 not finished within --timeout, 103 cancelled.

    Example: mill flow wait words#3 --timeout 2h
    """
    until = waiting(True, timeout)
    ended = watch_run(mill, get_run(mill.api, mill.project, run_name(run)), timeout=until.timeout)
    _show_json(mill, ended)
    end_with(mill, ended)


@command(app, "approve")
def approve(mill: Session, run: RunArgument, step: Step, message: Message = "") -> None:
    """Approve a gate, so that the run goes on.

    Example: mill flow approve words#3 release -m "Looks good"
    """
    found = approve_step(mill.api, mill.project, run_name(run), step, message)
    _show_json(mill, found)
    mill.out.note(f"Step {step} of {found.written} approved.")


@command(app, "reject")
def reject(mill: Session, run: RunArgument, step: Step, message: Message = "") -> None:
    """Reject a gate. The step fails, and so does the run.

    Example: mill flow reject words#3 release -m "Accuracy too low"
    """
    found = reject_step(mill.api, mill.project, run_name(run), step, message)
    _show_json(mill, found)
    mill.out.note(f"Step {step} of {found.written} rejected.")


def show_started(mill: Session, run: FlowRun, until: Waiting) -> None:
    """Print a run that was started; if asked to wait, follow it to its end and exit with the matching code."""
    waits = f" {run.reason}" if run.reason else ""
    mill.out.note(f"{run.written} {'started' if run.state == 'running' else run.state}.{waits}")
    if not until.wait:
        if not mill.out.as_json and not mill.out.for_people:
            mill.out.line(run.written)
        _show_json(mill, run)
        mill.out.note(f"Show it: mill flow show {run.written}")
        return
    ended = watch_run(mill, run, timeout=until.timeout)
    _show_json(mill, ended)
    end_with(mill, ended)


def _show_json(mill: Session, run: FlowRun) -> None:
    if mill.out.as_json:
        mill.out.shape(run, [])
