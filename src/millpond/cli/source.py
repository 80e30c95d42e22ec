"""`mill source`: places whose objects come into a dataset again and again."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import named
from millpond.cli.session import Session
from millpond.cli.values import Bytes, Seconds
from millpond.client.connections import connection_for
from millpond.client.sources import (
    change_source,
    create_source,
    delete_source,
    get_source,
    list_sources,
    run_source,
    wait_for_run,
)
from millpond.errors import MillError
from millpond.model.quantity import format_seconds, parse_seconds
from millpond.wire.imports import Source, SourceChange, SourceCreate

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the source.")]
Every = Annotated[str, typer.Option(metavar="TIME", help="Interval, like 15m, 6h or 1d.")]


@command(app, "add")
def add(
    mill: Session,
    dataset: Annotated[str, typer.Argument(metavar="DATASET[@BRANCH][:PATH]", help="Target dataset and directory.")],
    uri: Annotated[str, typer.Argument(help="What to import: s3://bucket/prefix, gs://…, https://…")],
    every: Every = "1h",
    copy: Annotated[
        bool, typer.Option("--copy", help="Copy the files into the lake, instead of adding them by reference.")
    ] = False,
    listing: Annotated[
        bool, typer.Option("--listing", help="The https address is a text file with a list of files.")
    ] = False,
    connection: Annotated[str | None, typer.Option(help="Connection to read through.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the source (default: the dataset's name).")] = None,
) -> None:
    """Import from a bucket or web server into a dataset, now and on a schedule. Only changes are transferred.

    Example: mill source add x-ray s3://hospital/2026/ --every 6h --connection hospital
    """
    where = named(mill, dataset)
    asked = SourceCreate(
        name=name,
        dataset=where.dataset,
        connection=connection or connection_for(mill.api, where.project, uri),
        uri=uri,
        listing=listing,
        path=where.path,
        branch=where.ref,
        copies=copy,
        every_seconds=parse_seconds(every),
    )
    source = create_source(mill.api, where.project, asked)
    mill.out.note(f"Source {source.name} added. It runs now and every {format_seconds(source.every_seconds)}.")
    _show(mill, source)


@command(app, "list")
def list_all(
    mill: Session, dataset: Annotated[str | None, typer.Argument(help="Only sources of this dataset.")] = None
) -> None:
    """List sources with the result of their last run and the time of the next.

    Example: mill source list
    """
    mill.out.items(
        list_sources(mill.api, mill.project, dataset),
        [
            ("SOURCE", lambda s: s.name),
            ("STATE", lambda s: s.state),
            ("DATASET", lambda s: _target(s)),
            ("FROM", lambda s: s.uri),
            ("EVERY", lambda s: Seconds(s.every_seconds)),
            ("LAST RUN", lambda s: s.ended_at),
            ("NEXT RUN", lambda s: s.next_at),
            ("PROBLEM", lambda s: s.problem),
        ],
        empty="No sources yet. Add one: mill source add DATASET s3://bucket/prefix --every 1h",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a source.

    Example: mill source show x-ray
    """
    _show(mill, get_source(mill.api, mill.project, name))


@command(app, "run")
def run(
    mill: Session, name: Name, wait: Annotated[bool, typer.Option(help="Wait until the run has ended.")] = True
) -> None:
    """Run a source now. Exit code 1 if the run fails.

    Example: mill source run x-ray --wait
    """
    before = get_source(mill.api, mill.project, name)
    source = run_source(mill.api, mill.project, name)
    if wait:
        mill.out.note(f"Running {name} …")
        source = wait_for_run(mill.api, before)
    _show(mill, source)
    if wait and source.problem is not None:
        if mill.out.as_json:
            raise typer.Exit(1)
        raise MillError(f"The run failed: {source.problem}", hint="It will be retried automatically.")


@command(app, "pause")
def pause(mill: Session, name: Name) -> None:
    """Pause a source.

    Example: mill source pause x-ray
    """
    _show(mill, change_source(mill.api, mill.project, name, SourceChange(paused=True)))


@command(app, "resume")
def resume(mill: Session, name: Name) -> None:
    """Resume a paused source. From now on it runs with your permissions.

    Example: mill source resume x-ray
    """
    _show(mill, change_source(mill.api, mill.project, name, SourceChange(paused=False)))


@command(app, "set")
def change(mill: Session, name: Name, every: Every) -> None:
    """Change how often a source runs.

    Example: mill source set x-ray --every 1h
    """
    changed = SourceChange(every_seconds=parse_seconds(every))
    _show(mill, change_source(mill.api, mill.project, name, changed))


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove a source. What it has imported stays in the dataset.

    Example: mill source rm x-ray
    """
    mill.confirm(f"Remove the source {name}?", yes=yes)
    delete_source(mill.api, mill.project, name)
    mill.out.note(f"Source {name} removed. What it imported stays in the dataset.")


def _target(source: Source) -> str:
    return f"{source.dataset}@{source.branch}" + (f":{source.path}" if source.path else "")


def _show(mill: Session, source: Source) -> None:
    result = source.result
    counts = [] if result is None else [
        ("added", result.added), ("changed", result.changed), ("removed", result.removed),
        ("unchanged", result.unchanged), ("bytes", Bytes(result.bytes)), ("skipped", result.skipped_count),
    ]  # fmt: skip
    mill.out.shape(
        source,
        [
            ("source", source.name),
            ("state", source.state),
            ("dataset", _target(source)),
            ("from", source.uri),
            ("connection", source.connection),
            ("brings", "copies" if source.copies else "by reference"),
            ("every", Seconds(source.every_seconds)),
            ("runs as", source.user),
            ("last run", source.ended_at),
            ("next run", source.next_at),
            *counts,
            ("problem", source.problem),
        ],
    )
