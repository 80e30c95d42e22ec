"""`mill run view list|save|delete`: how a list of runs is narrowed, ordered and shown, under a name."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.run_arguments import Columns, Experiment, Filter, Sort
from millpond.cli.session import Session
from millpond.client.saved_views import delete_view, find_view, list_views, save_view
from millpond.wire.saved_views import SavedViewPut

ViewName = Annotated[str, typer.Argument(metavar="VIEW", help="Name of the view.")]


def add_view_commands(app: typer.Typer) -> None:
    view = typer.Typer(help="Manage saved views of runs.", no_args_is_help=True)
    view.callback()(_group)
    command(view, "list")(list_all)
    command(view, "save")(save)
    command(view, "delete")(delete)
    app.add_typer(view, name="view")


def list_all(mill: Session) -> None:
    """List the saved views of a project: shared ones and your own.

    Example: mill run view list
    """
    mill.out.items(
        list_views(mill.api, mill.project),
        [
            ("VIEW", lambda v: v.name),
            ("SHARED", lambda v: "yes" if v.shared else "no"),
            ("BY", lambda v: v.created_by),
            ("EXPERIMENT", lambda v: v.experiment or None),
            ("FILTER", lambda v: v.filter or None),
            ("SORT", lambda v: v.sort or None),
            ("COLUMNS", lambda v: v.columns or None),
            ("GROUP", lambda v: v.group or None),
        ],
        empty='No views yet. Save one: mill run view save best --filter "metrics.acc > 0.9"',
    )


def save(
    mill: Session,
    name: ViewName,
    filter: Filter = None,
    sort: Sort = None,
    columns: Columns = None,
    experiment: Experiment = None,
    group: Annotated[str | None, typer.Option(help="Group by this on the page, like params.lr.")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Share it with the project.")] = False,
) -> None:
    """Save a view, in place of one of the same name.

    Example: mill run view save best --filter "metrics.acc > 0.9" --sort "metrics.acc desc" --columns params.lr
    """
    wanted = SavedViewPut(
        name=name, shared=shared, experiment=experiment or "", filter=filter or "", sort=sort or "",
        columns=columns or "", group=group or "",
    )  # fmt: skip
    saved = save_view(mill.api, mill.project, wanted)
    if mill.out.as_json:
        mill.out.json(saved.model_dump(mode="json"))
    else:
        mill.out.note(f"View {saved.name} saved. Use it: mill run list --view '{saved.name}'")


def delete(
    mill: Session,
    name: ViewName,
) -> None:
    """Delete a view; your own before a shared one of the same name.

    Example: mill run view delete best
    """
    found = find_view(mill.api, mill.project, name)
    delete_view(mill.api, mill.project, found.id)
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
    else:
        mill.out.note(f"View {found.name} deleted.")


def _group() -> None:
    """Manage saved views of runs."""
