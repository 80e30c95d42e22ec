"""`mill data zip`: what the page's download button does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import named
from millpond.cli.progress import Meter
from millpond.cli.session import Session
from millpond.client.archives import save_zip
from millpond.model.quantity import format_bytes, format_seconds


def add_zip_command(app: typer.Typer) -> None:
    command(app, "zip")(save)


def save(
    mill: Session,
    where: Annotated[
        str, typer.Argument(metavar="DATASET[@REF][:PATH]", help="Commit (default: main), or a directory in it.")
    ],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Zip file (default: named like the directory).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Download a directory of a commit as a zip file.

    `mill data clone` is faster and can continue after an interruption; a zip file has to be downloaded again.

    Example: mill data zip x-ray@v1:train/ train.zip
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
    mill.out.note(f"Saved {ref} to {target}: {format_bytes(size)} in {format_seconds(meter.seconds)}.")
    if mill.out.as_json:
        mill.out.json({"file": str(target), "bytes": size})
