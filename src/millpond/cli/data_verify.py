"""`mill data verify`: whether a commit, or the folder that holds it, is what it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import named
from millpond.cli.progress import Meter, tell
from millpond.cli.session import Session
from millpond.client.verify import Depth, Verified, verify_folder, verify_lake
from millpond.client.working_copy import load_working_copy, require_working_copy
from millpond.errors import BadRequest
from millpond.model.quantity import format_count, format_seconds, format_tree

_CHECKED = {
    Depth.METADATA: "names, sizes and locations",
    Depth.SAMPLE: "names, sizes and locations, and all bytes of a sample",
    Depth.FULL: "all bytes",
}


def add_checking_commands(app: typer.Typer) -> None:
    command(app, "verify")(verify)


def verify(
    mill: Session,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="DATASET[@REF]|DIR",
            help="Commit (default: the newest of this folder's branch), or a folder, written with a / or as '.'.",
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="Read all bytes of N files.")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Read all bytes of every file.")] = False,
) -> None:
    """Check that a commit in the lake is intact, or that a folder matches its commit; exit code 1 if not.

    By default: every page and the location of every blob in the lake; names, types and sizes in a folder.

    Example: mill data verify x-ray@main --sample 100
    """
    if sample and full:
        raise BadRequest("--sample and --full cannot be combined.")
    depth = Depth.FULL if full else Depth.SAMPLE if sample else Depth.METADATA
    folder = Path(what) if what and _is_folder(what) else None
    name = str(folder) if folder else str(named(mill, what))
    with Meter(mill.out, f"Verifying {name}") as meter:
        if folder is not None:
            copy = require_working_copy(folder)
            done = verify_folder(mill.api, copy, depth=depth, sample=sample or 0, progress=tell(meter))
        else:
            ref = named(mill, what)
            done = verify_lake(
                mill.api, ref.project, ref.dataset, ref.ref, depth=depth, sample=sample or 0, progress=tell(meter)
            )
    _show(mill, name, done, meter.seconds)


def _is_folder(what: str) -> bool:
    """`.`, `x/` and `/x` are folders; `x` is one only if it is a working copy: else it names a dataset."""
    return what.startswith((".", "/", "~")) or what.endswith("/") or load_working_copy(Path(what)) is not None


def _show(mill: Session, name: str, done: Verified, seconds: float) -> None:
    if mill.out.as_json:
        problems = [{"what": problem.what, "paths": list(problem.paths)} for problem in done.problems]
        mill.out.json({"commit": done.commit.id, "depth": done.depth.value, "problems": problems})
    else:
        for problem in done.problems:
            for path in problem.paths or ("-",):
                mill.out.fields(path, problem.what)
    size = format_tree(done.commit.files, done.commit.bytes)
    checked = f"{name} ({done.commit.id[:12]}, {size}; {_CHECKED[done.depth]}; {format_seconds(seconds)})"
    if done.problems:
        mill.out.warn(f"{format_count(len(done.problems), 'problem')} in {checked}.")
        raise typer.Exit(1)
    mill.out.note(f"No problems in {checked}.")
