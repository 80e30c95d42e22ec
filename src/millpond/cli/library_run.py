"""`mill library run`: one component alone, here or as a step on the server."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.flow_arguments import TimeoutOption, WaitOption, waiting
from millpond.cli.flow_runs import show_started
from millpond.cli.follow import FAILED
from millpond.cli.pairs import parse_pairs
from millpond.cli.session import Session
from millpond.client.flows.runs import start_run
from millpond.client.library.component_run import ComponentRun, missing_packages, run_component
from millpond.client.library.own_components import own_components
from millpond.client.library.server_run import save_component_flow
from millpond.decide.flows.fields import nearest
from millpond.decide.flows.values import parse_value
from millpond.errors import BadRequest, NotSignedIn, ServerUnreachable, SetupError
from millpond.library.catalog import Catalog, FoundComponent, load_component
from millpond.model.component import Component, ComponentRef
from millpond.model.flow_run import Files
from millpond.wire.flows import FlowRunCreate

app = typer.Typer()

# Components in this folder of the working directory can be named as well.
HERE = "components"


@command(app, "run")
def run(
    mill: Session,
    component: Annotated[str, typer.Argument(metavar="NAME[@VERSION]|FOLDER", help="Component, or its folder.")],
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", metavar="NAME=DATASET@REF", help="Input; with --local, a folder. Repeatable."),
    ] = None,
    params: Annotated[
        list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Parameter. Repeatable.")
    ] = None,
    on: Annotated[str | None, typer.Option("--on", metavar="TEMPLATE", help="Template or queue to run it on.")] = None,
    no_remember: Annotated[
        bool, typer.Option("--no-remember", help="Run it, even if the same was done before.")
    ] = False,
    wait: WaitOption = False,
    timeout: TimeoutOption = None,
    local: Annotated[bool, typer.Option("--local", help="Run it as a process on this machine.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="With --local: folder for everything it writes."),
    ] = None,
) -> None:
    """Run one component alone on the server, as a flow of one step named run-NAME.

    With --wait or --local, the exit code is 0 for succeeded, 100 for failed, 101 for not finished in time, 103 for
    cancelled.

    Example: mill library run resnet50 --input images=xray@main --param epochs=1 --wait
    """
    is_folder, until = Path(component).is_dir(), waiting(wait, timeout)
    found = load_folder(Path(component)) if is_folder else catalog_of(mill).require(ComponentRef.parse(component))
    values = typed_params(found.component, parse_pairs(params, "--param") or {})
    given = parse_pairs(inputs, "--input") or {}
    if local:
        if on or no_remember or wait or timeout:
            raise BadRequest("Cannot combine --local with --on, --no-remember, --wait or --timeout.")
        _run_here(mill, found, given, values, output)
        return
    if output is not None:
        raise BadRequest("-o is for --local.", hint="Outputs are kept in the lake: mill flow show RUN")
    brings_files = is_folder or found.origin == HERE
    saved = save_component_flow(
        mill.api, mill.project, found, inputs=given, params=values, brings_files=brings_files
    )  # fmt: skip
    request = FlowRunCreate(version=saved.version, on=on, remember=not no_remember)
    show_started(mill, start_run(mill.api, mill.project, saved.name, request), until)


def _run_here(
    mill: Session, found: FoundComponent, given: dict[str, str], values: dict[str, Any], output: Path | None
) -> None:
    folders = {name: Path(value) for name, value in given.items()}
    lacking = missing_packages(found.component, found.folder)
    if lacking:
        path = found.folder / found.component.environment.requirements
        raise SetupError(
            f"This Python lacks {', '.join(lacking)}, which {found.component.name} needs.",
            hint=f"Install its packages: pip install -r {path}",
        )
    work = output or Path(tempfile.mkdtemp(prefix=f"mill-{found.component.name}-"))
    work.mkdir(parents=True, exist_ok=True)
    _report(mill, found, run_component(found.component, found.folder, inputs=folders, params=values, work=work))


def catalog_of(mill: Session, *, local: bool = False) -> Catalog:
    """Everything this user can name: built-in, installed, in the folder `components` here, and of the project."""
    here = [Path(HERE)] if Path(HERE).is_dir() else []
    if local or not mill.target.token:
        return Catalog(here)
    try:
        return Catalog(here, own_components(mill.api, mill.project, mill.target.server))
    except (ServerUnreachable, NotSignedIn) as error:
        mill.out.note(f"Components of project {mill.project} are not shown: {error.message}")
        return Catalog(here)


def load_folder(folder: Path) -> FoundComponent:
    return FoundComponent(load_component(folder.resolve()), folder.resolve(), str(folder))


def typed_params(component: Component, given: dict[str, str]) -> dict[str, Any]:
    """What was written on the command line, as values of the parameters' types."""
    for name in given:
        if name not in component.params:
            raise BadRequest(
                f"Component {component.name} has no parameter {name!r}.", hint=nearest(name, component.params)
            )
    return {name: parse_value(component.params[name], text) for name, text in given.items()}


def _report(mill: Session, found: FoundComponent, ran: ComponentRun) -> None:
    outputs = {name: one.place if isinstance(one, Files) else one for name, one in ran.outputs.items()}
    state = "failed" if ran.problem else "succeeded"
    if mill.out.as_json:
        mill.out.json(
            {
                "component": str(found.component.ref), "digest": found.digest, "state": state, "reason": ran.problem,
                "outputs": outputs, "folder": str(ran.folder), "seconds": round(ran.seconds, 3),
            }
        )  # fmt: skip
    else:
        mill.out.note(ran.log.rstrip())
        for name, value in outputs.items():
            mill.out.fields(name, str(value))
    mill.out.note(f"Component {found.component.ref} {state} after {ran.seconds:.1f} s. {ran.problem}".strip())
    if ran.problem:
        raise typer.Exit(FAILED)
