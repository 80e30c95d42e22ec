"""`mill edge`: which version of a model each site serves, pushed to sites that may be away for long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.endpoint_arguments import EndpointName
from millpond.cli.endpoint_changes import Unchecked
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.client import endpoints as calls
from millpond.wire.endpoints import Endpoint, EndpointSiteState

app = typer.Typer()

_EMPTY = "No sites serve models yet. Push a version: mill edge push MODEL@VERSION --site 'SITE-*'"
_Row = tuple[Endpoint, EndpointSiteState]
_COLUMNS: list[Column[_Row]] = [
    ("SITE", lambda row: row[1].site),
    ("ENDPOINT", lambda row: row[0].name),
    ("DESIRED", lambda row: " ".join(row[1].desired)),
    ("SERVING", lambda row: " ".join(row[1].serving)),
    ("SINCE", lambda row: row[1].since),
    ("SWAP", lambda row: row[1].swap.value),
    ("SITE IS", lambda row: "online" if row[1].is_online else "silent"),
    ("HEARD", lambda row: row[1].heard_at),
    ("REASON", lambda row: row[1].swap_reason),
]


@command(app, "push")
def push(
    mill: Session,
    model: Annotated[str, typer.Argument(metavar="MODEL@VERSION", help="A number, an alias or latest.")],
    site: Annotated[list[str], typer.Option(help="Site, or pattern of sites; may be repeated.")],
    endpoint: Annotated[
        str | None, typer.Option(help="Endpoint (default: the one that serves the model, or a new one of its name).")
    ] = None,
    unchecked: Unchecked = False,
) -> None:
    """Let sites serve a version of a model. Each swaps when it has loaded it and warmed it up.

    A site that is silent goes on with the version it has, and swaps when it is back. Sites that match the pattern
    later get the version, too.

    Example: mill edge push shelf-count@4 --site 'shop-*'
    """
    after = calls.push_to_edge(mill.api, mill.project, model, site, endpoint, unchecked=unchecked)
    mill.out.note(f"{model} pushed: revision {after.revision} of endpoint {after.name}. See: mill edge list")
    _show(mill, [after])


@command(app, "list")
def list_all(
    mill: Session,
    endpoint: Annotated[str | None, typer.Argument(help="Only this endpoint (default: all of the project).")] = None,
) -> None:
    """List what each site should serve, what it serves now, and how far the swap is.

    Example: mill edge list
    """
    found = (
        [calls.get_endpoint(mill.api, mill.project, endpoint)]
        if endpoint
        else list(calls.list_endpoints(mill.api, project=mill.project))
    )
    _show(mill, found)


@command(app, "rollback")
def rollback(
    mill: Session,
    endpoint: EndpointName,
    site: Annotated[
        list[str] | None,
        typer.Option(help="Site, or pattern of sites; may be repeated (default: where the newest push went)."),
    ] = None,
) -> None:
    """Bring back the version before at sites.

    Example: mill edge rollback shelf-count --site shop-7
    """
    after = calls.roll_back_edge(mill.api, mill.project, endpoint, site or ())
    mill.out.note(f"Endpoint {after.name} rolled back at sites: revision {after.revision}.")
    _show(mill, [after])


def _show(mill: Session, found: list[Endpoint]) -> None:
    rows = list(_rows(found))
    if mill.out.as_json:
        items = [{"endpoint": one.name, **site.model_dump(mode="json")} for one, site in rows]
        mill.out.json({"items": items})
    elif rows:
        mill.out.table(rows, _COLUMNS, ["HEARD", "REASON"])
    else:
        mill.out.note(_EMPTY)


def _rows(found: list[Endpoint]) -> Iterator[_Row]:
    for endpoint in found:
        for site in endpoint.sites:
            yield endpoint, site
