"""`mill data import`: objects that lie elsewhere become files of a dataset, without being copied."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.naming import named
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
    dataset: Annotated[str, typer.Argument(metavar="DATASET[@BRANCH][:PATH]", help="Where they go.")],
    uri: Annotated[str, typer.Argument(help="s3://bucket/prefix, gs://bucket/prefix or https://host/file.")],
    listing: Annotated[bool, typer.Option("--listing", help="https: the address is a text that lists files.")] = False,
    connection: Annotated[str | None, typer.Option(help="The connection to read through.")] = None,
    message: Annotated[str, typer.Option("--message", "-m", help="What this is, in a few words.")] = "",
) -> None:
    """Register objects of a bucket or site as files of a dataset. They stay where they are; no byte is copied."""
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
    mill.out.note(f"Looking at {uri.partition('?')[0]} …")
    done = import_objects(mill.api, where.project, where.dataset, asked)
    for skipped in done.skipped[:_NAMED]:
        mill.out.warn(f"left out: {skipped.uri}: {skipped.reason}")
    if done.skipped_count > _NAMED:
        mill.out.warn(f"left out: {done.skipped_count - _NAMED:,} more; --json names them")
    at = f"{where.dataset}@{where.ref} is at {done.commit.id[:12]}" if done.commit else "nothing was committed"
    mill.out.note(
        f"{done.added:,} added, {done.changed:,} changed, {done.unchanged:,} as they were "
        f"({format_bytes(done.bytes)} in all); {at}."
    )
    if mill.out.as_json:
        mill.out.shape(done, [])
