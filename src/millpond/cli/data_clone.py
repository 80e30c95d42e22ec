"""`mill data clone`: a commit as a new folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import named
from millpond.cli.progress import Meter, going_on, tell
from millpond.cli.session import Session
from millpond.client.clone import clone as clone_commit
from millpond.model.quantity import format_bytes, format_seconds, format_tree

app = typer.Typer()


@command(app, "clone")
def clone(
    mill: Session,
    dataset: Annotated[str, typer.Argument(metavar="DATASET[@REF]", help="Dataset and ref (default: main).")],
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="New folder (default: named like the dataset).")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="GLOB",
            help="Only files that match, in the syntax of .gitignore: '*.png', 'train/'. Repeatable.",
        ),
    ] = None,
) -> None:
    """Download a commit, or with --only a part of it, into a new folder.

    `mill data sync` in a partial clone leaves the other files of the dataset unchanged.

    Example: mill data clone x-ray@v1 --only train/
    """
    ref = named(mill, dataset)
    target = directory or Path(ref.dataset.lstrip("."))
    with Meter(mill.out, f"Cloning {ref}") as meter, going_on():
        done = clone_commit(mill.api, ref.project, ref.dataset, ref.ref, target, only=only or (), progress=tell(meter))
    size = format_tree(done.commit.files, done.commit.bytes)
    if only:
        moved = done.fetched.moved
        size = f"{moved.files:,} of {done.commit.files:,} files, {format_bytes(moved.bytes)}"
        if not moved.files:
            mill.out.warn(f"No files in {ref} match {', '.join(only)}.")
    mill.out.note(f"Cloned {ref} ({done.commit.id[:12]}) to {target}: {size} in {format_seconds(meter.seconds)}.")
    if mill.out.as_json:
        mill.out.shape(done.commit, [])
