"""`mill library`: components for flows: look at them, test them, run one alone, add your own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.library_run import app as run_app
from millpond.cli.library_run import catalog_of, load_folder
from millpond.cli.session import Session
from millpond.client.library.component_test import FAILED, PASSED, check_component
from millpond.client.library.own_components import add_component, component_folders
from millpond.library.catalog import FoundComponent
from millpond.library.describe import component_document, param_default, param_type, resources_text
from millpond.library.digest import record_version
from millpond.library.scaffold import new_component
from millpond.model.component import ComponentRef
from millpond.model.flow import Param, Port
from millpond.model.quantity import format_count

app = typer.Typer()
app.add_typer(run_app)

Local = Annotated[bool, typer.Option("--local", help="Leave out the components of the project; ask no server.")]
_MARKS = {PASSED: "✓", FAILED: "✗"}


@command(app, "list")
def list_all(
    mill: Session,
    category: Annotated[
        str | None, typer.Option(metavar="CATEGORY", help="Only this category, like algorithm.")
    ] = None,
    local: Local = False,
) -> None:
    """List components: built-in ones, those of installed packages and those of the project.

    Example: mill library list --category algorithm
    """
    found = [one for one in catalog_of(mill, local=local).all() if category in (None, one.component.category)]
    if mill.out.as_json:
        mill.out.json({"items": [component_document(one) for one in found]})
        return
    mill.out.items(
        found,
        [
            ("COMPONENT", lambda one: one.component.name),
            ("VERSION", lambda one: one.component.version_text),
            ("CATEGORY", lambda one: one.component.category),
            ("ORIGIN", lambda one: one.origin),
            ("DESCRIPTION", lambda one: one.component.description or one.component.title),
        ],
        empty="No components found. Begin one: mill library new NAME",
        drop=("DESCRIPTION",),
    )


@command(app, "show")
def show(
    mill: Session,
    component: Annotated[str, typer.Argument(metavar="NAME[@VERSION]|FOLDER", help="Component, or its folder.")],
    docs: Annotated[bool, typer.Option("--docs", help="Print its page of docs.")] = False,
    local: Local = False,
) -> None:
    """Show a component: parameters, inputs, outputs, packages.

    Example: mill library show resnet50@1
    """
    found = _find(mill, component, local=local)
    if mill.out.as_json:
        mill.out.json(component_document(found) | {"docs": found.docs})
    elif docs:
        mill.out.verbatim(found.docs.rstrip())
    else:
        _show(mill, found)


@command(app, "new")
def new(
    mill: Session,
    name: Annotated[str, typer.Argument(help="Name of the component: lower-case letters, digits and '-'.")],
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="FOLDER", help="Folder to make (default: NAME).")
    ] = None,
    category: Annotated[str, typer.Option(metavar="CATEGORY", help="What it is, like transform.")] = "script",
) -> None:
    """Begin a component of your own: a working example with code, test and docs.

    Example: mill library new clean-labels --category transform
    """
    target = folder or Path(name)
    made = new_component(name, target, category=category)
    if mill.out.as_json:
        mill.out.json({"folder": str(target), "files": [str(path) for path in made]})
    for path in () if mill.out.as_json else made:
        mill.out.line(str(path))
    mill.out.note(f"Component {name} is in {target}. Test it: mill library test {target}")


@command(app, "test")
def test(
    mill: Session,
    component: Annotated[str, typer.Argument(metavar="NAME[@VERSION]|FOLDER", help="Component, or its folder.")] = ".",
    record: Annotated[
        bool, typer.Option("--record", help="List the digest of this version in versions.json when all is well.")
    ] = False,
    example_only: Annotated[bool, typer.Option("--example-only", help="Leave out the component's own tests.")] = False,
) -> None:
    """Test a component: its schema, files and version; its example, whose outputs are checked; its own tests.

    The exit code is 1 if a check failed.

    Example: mill library test ./clean-labels
    """
    found = _find(mill, component, local=True)
    if record:
        record_version(found.folder, found.component.version_text)
    checks = []
    for check in check_component(found.folder, run_tests=not example_only):
        checks.append(check)
        if not mill.out.as_json:
            mill.out.line(
                f"{_MARKS.get(check.state, '–')} {check.name}" + (f": {check.message}" if check.message else "")
            )
    if mill.out.as_json:
        listed = [{"name": one.name, "state": one.state, "message": one.message} for one in checks]
        mill.out.json({"component": str(found.component.ref), "digest": found.digest, "checks": listed})
    failed = [check for check in checks if check.state == FAILED]
    if failed:
        mill.out.note(f"{format_count(len(failed), 'check')} of {found.component.ref} failed.")
        raise typer.Exit(1)


@command(app, "add")
def add(
    mill: Session,
    source: Annotated[str, typer.Argument(metavar="FOLDER|URL[@REV]", help="Folder or Git repository.")],
    path: Annotated[str | None, typer.Option("--path", metavar="FOLDER", help="Folder inside of the source.")] = None,
) -> None:
    """Add components to the project, so that its flows can use them. Versions stay side by side.

    The source holds one component, or one folder for each.

    Example: mill library add https://example.org/components.git@main --path clean-labels
    """
    with component_folders(source, path) as folders:
        added = [add_component(mill.api, mill.project, folder) for folder in folders]
    if mill.out.as_json:
        mill.out.json(
            {
                "items": [
                    {
                        "component": str(one.component.ref),
                        "commit": one.commit.id,
                        "digest": one.commit.tree,
                        "new": one.is_new,
                    }
                    for one in added
                ]
            }
        )
    for one in added:
        what = "added to" if one.is_new else "is already in"
        mill.out.note(f"Component {one.component.ref} {what} project {mill.project}.")


def _find(mill: Session, written: str, *, local: bool) -> FoundComponent:
    if Path(written).is_dir():
        return load_folder(Path(written))
    return catalog_of(mill, local=local).require(ComponentRef.parse(written))


def _show(mill: Session, found: FoundComponent) -> None:
    component = found.component
    environment = component.environment
    mill.out.shape(
        _Nothing(),
        [
            ("component", str(component.ref)),
            ("title", component.title),
            ("category", component.category),
            ("description", component.description),
            ("origin", found.origin),
            ("folder", str(found.folder)),
            ("digest", found.digest),
            ("command", " ".join(component.command) or None),
            ("image", component.image),
            ("packages", environment.lock or environment.requirements or None),
            ("resources", resources_text(component) or None),
            ("checkpoint", "resumes from it" if component.checkpoint else None),
        ],
    )
    _table(mill, "Parameters", list(component.params.values()), _PARAM_COLUMNS)
    _table(mill, "Inputs", list(component.inputs.values()), _PORT_COLUMNS)
    _table(mill, "Outputs", list(component.outputs.values()), _PORT_COLUMNS)


class _Nothing:
    def model_dump(self, *, mode: str) -> Any:
        return {}


_PARAM_COLUMNS: list[tuple[str, Any]] = [
    ("NAME", lambda one: one.name),
    ("TYPE", param_type),
    ("DEFAULT", param_default),
    ("HELP", lambda one: one.help),
]
_PORT_COLUMNS: list[tuple[str, Any]] = [
    ("NAME", lambda one: one.name),
    ("TYPE", lambda one: one.type),
    ("REQUIRED", lambda one: "yes" if one.required else "no"),
    ("HELP", lambda one: one.help),
]


def _table(mill: Session, title: str, rows: list[Param] | list[Port], columns: list[tuple[str, Any]]) -> None:
    if rows:
        if mill.out.for_people:
            mill.out.line(f"\n{title}")
        sys.stdout.flush()
        mill.out.items(rows, columns, empty="", drop=("HELP",))
