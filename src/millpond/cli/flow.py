"""`mill flow`: check, save, list, show, export and remove flows. Runs are in `flow_runs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli import flow_backfill, flow_diff, flow_logs, flow_runs, flow_trigger
from millpond.cli.command import command
from millpond.cli.flow_arguments import FlowArgument, FlowName, file_or_name, flow_name, is_run
from millpond.cli.flow_show import show_file, show_flow, show_run
from millpond.cli.session import Session
from millpond.client.flows.flow_file import FlowFile, problem_document, problem_line, read_flow_file
from millpond.client.flows.flows import (
    delete_flow,
    export_flow,
    flow_bundle,
    get_flow,
    list_flows,
    save_flow,
    validate_flow,
)
from millpond.client.flows.runs import get_run
from millpond.decide.flows.reader import read_flow
from millpond.errors import BadRequest, NotSignedIn, ServerUnreachable
from millpond.model.flow import FlowProblem
from millpond.model.quantity import format_count

app = typer.Typer()


@command(app, "validate")
def validate(
    mill: Session,
    flow: FlowArgument,
    local: Annotated[bool, typer.Option("--local", help="Check with what is installed here; ask no server.")] = False,
) -> None:
    """Check a flow. Prints every problem with its line; exit code 1 if there are any.

    If you are signed in to a server, that checks the flow: it knows the project's components, and who may do what.

    Example: mill flow validate flow.yaml
    """
    found = file_or_name(flow)
    if isinstance(found, FlowFile):
        problems, text = _problems(mill, found, local=local), found.text
        place: Path | str = found.path
    else:
        saved = get_flow(mill.api, mill.project, found.name, found.version)
        bundle = flow_bundle(mill.api, mill.project, found.name, saved.version)
        problems, text, place = validate_flow(mill.api, mill.project, bundle), saved.text or "", str(found)
    if mill.out.as_json:
        mill.out.json([problem_document(one) for one in problems])
    for problem in () if mill.out.as_json else problems:
        mill.out.line(problem_line(place, problem))
    if problems:
        mill.out.note(f"{format_count(len(problems), 'problem')} in {place}.")
        raise typer.Exit(1)
    checked, _, _ = read_flow(text)
    mill.out.note(f"No problems in {place}: {format_count(len(checked.steps) if checked else 0, 'step')}.")


def _problems(mill: Session, file: FlowFile, *, local: bool) -> list[FlowProblem]:
    if local or not mill.target.token:
        return list(file.check().problems)
    try:
        return validate_flow(mill.api, mill.project, file.packed())
    except (ServerUnreachable, NotSignedIn) as error:
        mill.out.note(f"Checked without the components of project {mill.project}: {error.message}")
        return list(file.check().problems)


@command(app, "save")
def save(
    mill: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Flow file (YAML or Python).")],
    expected: Annotated[
        int | None,
        typer.Option("--expect", metavar="VERSION", min=0, help="Refuse unless this is the newest version; 0: none."),
    ] = None,
) -> None:
    """Save a flow with its code as a new version. Without a change, the newest version stays.

    Example: mill flow save flow.yaml
    """
    saved = save_flow(mill.api, mill.project, read_flow_file(file), expected=expected)
    if mill.out.as_json:
        mill.out.shape(saved, [])
    if saved.is_new:
        mill.out.note(f"Flow {saved.name} saved as version {saved.version}.")
    else:
        mill.out.note(f"Flow {saved.name} has not changed: version {saved.version}.")


@command(app, "list")
def list_all(mill: Session) -> None:
    """List the flows of the project, each with its newest run.

    Example: mill flow list
    """
    mill.out.items(
        list_flows(mill.api, mill.project),
        [
            ("FLOW", lambda one: one.name),
            ("VERSION", lambda one: one.version),
            ("STEPS", lambda one: one.steps),
            ("NEWEST RUN", lambda one: one.newest_run.written if one.newest_run else None),
            ("STATE", lambda one: one.newest_run.state if one.newest_run else None),
            ("SAVED", lambda one: one.saved_at),
            ("BY", lambda one: one.saved_by),
            ("DESCRIPTION", lambda one: one.description),
        ],
        empty="No flows yet. Save one: mill flow save FILE",
        drop=("DESCRIPTION", "BY"),
    )


@command(app, "show")
def show(
    mill: Session,
    flow: Annotated[
        str,
        typer.Argument(metavar="NAME#RUN|NAME[@VERSION]|FILE", help="Run of a flow, a flow of the project, or a file."),
    ],
) -> None:
    """Show a run with its steps, or a flow with its parameters, steps and versions.

    Example: mill flow show words#3
    """
    if is_run(flow):
        show_run(mill, get_run(mill.api, mill.project, flow))
        return
    found = file_or_name(flow)
    if isinstance(found, FlowFile):
        show_file(mill, found)
    else:
        show_flow(mill, get_flow(mill.api, mill.project, found.name, found.version))


@command(app, "export")
def export(
    mill: Session,
    flow: FlowArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write everything to that was saved."),
    ] = None,
) -> None:
    """Print the YAML of a flow; of a Python script, what it compiles to. With -o, write the whole folder.

    Example: mill flow export words@2 -o words
    """
    found = file_or_name(flow)
    if output is not None:
        _export_folder(mill, found, output)
        return
    text = found.text if isinstance(found, FlowFile) else _text(mill, found)
    if mill.out.as_json:
        mill.out.json({"text": text})
    else:
        mill.out.verbatim(text.removesuffix("\n"))


def _export_folder(mill: Session, found: FlowFile | FlowName, folder: Path) -> None:
    if isinstance(found, FlowFile):
        raise BadRequest("-o is for flows of the project.", hint=f"Print the YAML: mill flow export {found.path}")
    written = export_flow(mill.api, mill.project, found.name, folder, found.version)
    if mill.out.as_json:
        mill.out.json({"folder": str(folder), "files": [str(path) for path in written]})
    mill.out.note(f"Wrote {format_count(len(written), 'file')} of {found} to {folder}.")


def _text(mill: Session, found: FlowName) -> str:
    return get_flow(mill.api, mill.project, found.name, found.version).text or ""


@command(app, "rm")
def rm(
    mill: Session,
    flow: Annotated[str, typer.Argument(metavar="NAME", help="Name of the flow.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Remove a flow with all its versions. Its runs and what they made stay.

    Example: mill flow rm words --yes
    """
    found = flow_name(flow)
    if found.version is not None:
        raise BadRequest("Versions are not removed one by one.", hint=f"Remove the flow: mill flow rm {found.name}")
    get_flow(mill.api, mill.project, found.name)
    mill.confirm(f"Remove the flow {found.name} with all its versions?", yes=yes)
    delete_flow(mill.api, mill.project, found.name)
    mill.out.note(f"Flow {found.name} removed. Its runs stay.")


def _add(*parts: Any) -> None:
    for part in parts:
        app.add_typer(part.app)


_add(flow_runs, flow_logs, flow_diff, flow_backfill)
flow_trigger.add_to(app)
