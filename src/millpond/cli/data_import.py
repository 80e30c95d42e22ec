"""`mill data import`: objects that lie elsewhere become files of a dataset, without being copied."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import named
from millpond.cli.session import Session
from millpond.client.connections import connection_for
from millpond.client.sources import import_objects
from millpond.model.quantity import format_bytes
from millpond.wire.imports import Import

_NAMED = 5


def add_import_command(app: typer.Typer) -> None:
    command(app, "import")(import_)


def import_(
    mill: Session,
    dataset: Annotated[str, typer.Argument(metavar="DATASET[@BRANCH][:PATH]", help="Target dataset and directory.")],
    uri: Annotated[str, typer.Argument(help="s3://bucket/prefix, gs://bucket/prefix or https://host/file.")],
    listing: Annotated[
        bool, typer.Option("--listing", help="The https address is a text file with a list of files.")
    ] = False,
    connection: Annotated[str | None, typer.Option(help="Connection to read through.")] = None,
    message: Annotated[str, typer.Option("--message", "-m", help="Commit message.")] = "",
) -> None:
    """Add objects of a bucket or web server to a dataset by reference, without copying them.

    Example: mill data import x-ray:2026/ s3://hospital/2026/ --connection hospital
    """
    if "://" in dataset and "://" not in uri:
        dataset, uri = uri, dataset  # from here to there, as with cp: either order says what is meant
    where = named(mill, dataset)
    asked = Import(
        connection=connection or connection_for(mill.api, where.project, uri),
        uri=uri,
        listing=listing,
        path=where.path,
        branch=where.ref,
        message=message,
    )
    mill.out.note(f"Listing {uri.partition('?')[0]} …")
    done = import_objects(mill.api, where.project, where.dataset, asked)
    for skipped in done.skipped[:_NAMED]:
        mill.out.warn(f"skipped: {skipped.uri}: {skipped.reason}")
    if done.skipped_count > _NAMED:
        mill.out.warn(f"skipped: {done.skipped_count - _NAMED:,} more; --json lists them")
    at = f"{where.dataset}@{where.ref} is at {done.commit.id[:12]}" if done.commit else "nothing was committed"
    mill.out.note(
        f"{done.added:,} added, {done.changed:,} changed, {done.unchanged:,} unchanged "
        f"({format_bytes(done.bytes)} in total); {at}."
    )
    if mill.out.as_json:
        mill.out.shape(done, [])
