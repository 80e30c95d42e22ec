"""`mill data import`: an export of another site, or objects that lie elsewhere, by reference."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import named
from millpond.cli.session import Session
from millpond.client.connections import connection_for
from millpond.client.sources import import_objects
from millpond.errors import BadRequest
from millpond.model.quantity import format_bytes
from millpond.wire.imports import Import

_NAMED = 5


def add_import_command(app: typer.Typer) -> None:
    command(app, "import")(import_)


def import_(
    mill: Session,
    what: Annotated[
        str,
        typer.Argument(metavar="FILE|DATASET[@BRANCH][:PATH]", help="Export file; or target dataset and directory."),
    ],
    uri: Annotated[
        str | None, typer.Argument(help="s3://bucket/prefix, gs://bucket/prefix or https://host/file.")
    ] = None,
    listing: Annotated[
        bool, typer.Option("--listing", help="The https address is a text file with a list of files.")
    ] = False,
    connection: Annotated[str | None, typer.Option(help="Connection to read through.")] = None,
    message: Annotated[str, typer.Option("--message", "-m", help="Commit message.")] = "",
    name: Annotated[
        str | None, typer.Option("--as", metavar="DATASET", help="Dataset for an export (default: its own name).")
    ] = None,
    branch: Annotated[str | None, typer.Option(help="Branch for an export (default: its own).")] = None,
    volume: Annotated[
        Path | None,
        typer.Option("--volume", help="Import an export onto the volume in this directory, without a server."),
    ] = None,
) -> None:
    """Import a file of `mill data export`, or add objects of a bucket or web server by reference.

    A file is checked wholly before anything changes. At a server only what the project lacks is sent, an interrupted
    import continues where it stopped, and a branch moves only if the exported commit descends from its newest one.
    Objects of buckets are added to a dataset without copying them.

    Example: mill data import x-ray.mill --as x-ray
    """
    if uri is None:
        # What reads exports and volumes is not loaded for others.
        from millpond.cli.data_import_file import import_file  # noqa: PLC0415

        import_file(mill, Path(what), name=name, branch=branch, volume=volume)
        return
    if name or branch or volume:
        raise BadRequest(
            "--as, --branch and --volume are for export files.", hint="Write the branch as DATASET@BRANCH."
        )
    dataset = what
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
