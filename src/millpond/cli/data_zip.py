"""`mill data zip`: what the page's download button does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.naming import named
from millpond.cli.progress import Meter
from millpond.cli.session import Session
from millpond.client.archives import save_zip
from millpond.model.quantity import format_bytes, format_seconds


def add_zip_command(app: typer.Typer) -> None:
    command(app, "zip")(save)


def save(
    mill: Session,
    where: Annotated[
        str, typer.Argument(metavar="DATASET[@REF][:PATH]", help="A commit (main), or a directory in it.")
    ],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The zip file (named like the directory).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file of that name.")] = False,
) -> None:
    """Save a directory of a commit as a zip file, for those who do not have `mill`.

    `mill data clone` is much faster and continues where it was interrupted; a zip file comes whole or not at all.
    """
    ref = named(mill, where)
    target = file or Path(f"{ref.path.rpartition('/')[2] or ref.dataset.lstrip('.')}.zip")
    with Meter(mill.out, f"Saving {ref}") as meter:
        size = save_zip(
            mill.api,
            ref.project,
            ref.dataset,
            ref.ref,
            ref.path,
            target,
            force=force,
            progress=lambda received: meter.update(done=received),
        )
    mill.out.note(f"{ref} is in {target}: {format_bytes(size)} in {format_seconds(meter.seconds)}.")
    if mill.out.as_json:
        mill.out.json({"file": str(target), "bytes": size})
