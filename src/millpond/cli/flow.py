"""`mill flow`: check flows, and run them on this machine without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.flows.local_run import LocalRun, run_locally
from millpond.client.flows.local_step import LOG, log_tail
from millpond.decide.flows.check import CheckedFlow, check_flow
from millpond.errors import BadRequest, NotFound
from millpond.library.catalog import Catalog
from millpond.model.flow import FlowProblem
from millpond.model.flow_run import Files, StepRun, StepState
from millpond.model.quantity import format_count

app = typer.Typer()

File = Annotated[Path, typer.Argument(metavar="FILE", help="Flow file (YAML).")]
FAILED = 100


@command(app, "validate")
def validate(mill: Session, file: File) -> None:
    """Check a flow file. Prints every problem with its line; exit code 1 if there are any.

    Example: mill flow validate flow.yaml
    """
    checked = _check(file)
    if mill.out.as_json:
        mill.out.json([_document(one) for one in checked.problems])
    for problem in () if mill.out.as_json else checked.problems:
        hint = f" {problem.hint}" if problem.hint else ""
        mill.out.line(f"{file}:{problem.line}:{problem.column}: {problem.message}{hint}")
    if checked.problems:
        mill.out.note(f"{format_count(len(checked.problems), 'problem')} in {file}.")
        raise typer.Exit(1)
    mill.out.note(f"No problems in {file}: {format_count(len(checked.flow.steps) if checked.flow else 0, 'step')}.")


@command(app, "run")
def run(
    mill: Session,
    file: File,
    given: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Parameter of the flow. Repeatable.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", metavar="STEP=DIRECTORY", help="Folder to read for a dataset step. Repeatable."),
    ] = None,
    local: Annotated[bool, typer.Option("--local", help="Run the steps as processes on this machine.")] = False,
) -> None:
    """Run a flow. With --local, its steps are plain processes here and its datasets are folders; no server is needed.

    Outputs and logs are kept in .mill-flow next to the file. The exit code is 0 for succeeded, 100 for failed.

    Example: mill flow run flow.yaml --local --data images=./images --set epochs=1
    """
    if not local:
        raise BadRequest("Flows run on this machine only, so far.", hint="Add --local.")
    _read(file)
    folders = {name: Path(value) for name, value in _pairs(data or [], "--data").items()}
    ended = run_locally(
        file, given=_pairs(given or [], "--set"), folders=folders, tell=lambda one, log: _tell(mill, one, log)
    )
    if mill.out.as_json:
        mill.out.json(_run_document(ended))
    succeeded = ended.state is StepState.SUCCEEDED
    mill.out.note(f"Flow {ended.flow} {ended.state.value}. {ended.reason}".strip())
    mill.out.note(f"Outputs and logs: {ended.folder}")
    if not succeeded:
        raise typer.Exit(FAILED)


def _check(file: Path) -> CheckedFlow:
    return check_flow(_read(file), Catalog([file.parent / "components"]).component)


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        raise NotFound(f"No file {str(file)!r}.", hint="Give the path of a flow file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(f"Cannot read {file}: {error}") from error


def _pairs(given: list[str], option: str) -> dict[str, str]:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise BadRequest(f"{option} {text!r} is not NAME=VALUE.", hint=f"Write it as {option} name=value.")
        found[name] = value
    return found


def _tell(mill: Session, run: StepRun, log: Path) -> None:
    reason = f": {run.reason}" if run.reason else ""
    mill.out.note(f"{run.label} {run.state.value}{reason}")
    if run.state is StepState.FAILED and (tail := log_tail(log)):
        mill.out.note("\n".join(f"  {line}" for line in tail.splitlines()))


def _document(problem: FlowProblem) -> dict[str, Any]:
    return {key: getattr(problem, key) for key in ("line", "column", "path", "code", "message", "hint")}


def _run_document(run: LocalRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "flow": run.flow,
        "state": run.state.value,
        "reason": run.reason,
        "params": run.params,
        "folder": str(run.folder),
        "steps": [_step_document(run, step) for step in run.steps],
    }


def _step_document(run: LocalRun, step: StepRun) -> dict[str, Any]:
    folder = run.folder / (step.step if step.index is None else f"{step.step}-{step.index}")
    log = folder / LOG
    return {
        "name": step.step,
        "index": step.index,
        "state": step.state.value,
        "reason": step.reason,
        "each": step.each,
        "outputs": {name: one.place if isinstance(one, Files) else one for name, one in step.outputs.items()},
        "log": str(log) if log.exists() else None,
    }
