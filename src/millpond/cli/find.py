"""`mill find`: find anything by name or id."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.find import find_everything
from millpond.model.find import Noun
from millpond.wire.find import Found

app = typer.Typer()
_SHORT_COMMIT = 12


@command(app, "find")
def find(
    mill: Session,
    text: Annotated[list[str], typer.Argument(help="Part of a name, project/name, job#7, or the start of an id.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="Most matches to show.", min=1, max=100)] = 20,
) -> None:
    """Find anything by name or id.

    Looks at projects, datasets, branches, tags, commits, jobs, runs, searches, computes, volumes, sites and sources.
    Example: mill find xray
    """
    written = " ".join(text)
    mill.out.items(
        find_everything(mill.api, written, limit),
        [
            ("KIND", lambda found: found.noun.value),
            ("NAME", _written),
            ("DETAIL", lambda found: found.detail),
            ("WHEN", lambda found: found.at),
        ],
        empty=f"Nothing matches {written!r}.",
    )


def _written(found: Found) -> str:
    """As other commands take it."""
    if found.noun is Noun.COMMIT:
        return f"{found.project}/{found.dataset}@{found.id[:_SHORT_COMMIT]}"
    if found.noun in (Noun.BRANCH, Noun.TAG):
        return f"{found.project}/{found.dataset}@{found.name}"
    return found.name if found.project in (None, found.name) else f"{found.project}/{found.name}"
