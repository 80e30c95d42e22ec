"""The commands of `mill data` that change single files of a branch without a working copy: put, rm."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import Named, named
from millpond.cli.progress import Meter, going_on, tell
from millpond.cli.session import Session
from millpond.client.datasets import list_entries
from millpond.client.edits import put_files, remove_paths
from millpond.errors import BadRequest, NotFound
from millpond.model.path import to_text
from millpond.model.quantity import format_count, format_tree
from millpond.wire.data import Commit

_STDIN = Path("-")

Message = Annotated[str, typer.Option("--message", "-m", help="Commit message.")]


def add_editing_commands(app: typer.Typer) -> None:
    command(app, "put")(put)
    command(app, "rm")(remove)


def put(
    mill: Session,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Local files, or `-` for stdin.")],
    target: Annotated[
        str, typer.Argument(metavar="DATASET[@BRANCH]:PATH", help="Target path, or a directory ending in /.")
    ],
    message: Message = "",
) -> None:
    """Commit files to a branch without a working copy.

    Example: mill data put labels.csv x-ray:train/labels.csv -m "fix two labels"
    """
    where = _place(mill, target)
    for file in files:
        if file.is_dir():
            raise BadRequest(f"{file} is a folder.", hint="For a whole folder: mill data sync")
    into = len(files) > 1 or target.endswith(("/", ":")) or _is_directory(mill, where)
    wanted: dict[str, Path | BinaryIO] = {}
    for file in files:
        if file == _STDIN and into:
            raise BadRequest("A file from stdin needs a name.", hint="Give its path: DATASET[@BRANCH]:PATH.")
        path = _below(where.path, to_text(os.fsencode(file.name))) if into else where.path
        if path in wanted:
            raise BadRequest(f"Two of the files would become {path!r}.")
        wanted[path] = sys.stdin.buffer if file == _STDIN else file
    with (
        Meter(mill.out, f"Putting {format_count(len(files), 'file')} into {where.dataset}@{where.ref}") as meter,
        going_on(),
    ):
        commit = put_files(
            mill.api, where.project, where.dataset, wanted, branch=where.ref, message=message, progress=tell(meter)
        )
    _tell(mill, where, commit)


def remove(
    mill: Session,
    targets: Annotated[
        list[str], typer.Argument(metavar="DATASET[@BRANCH]:PATH...", help="Files, or directories with --recursive.")
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Remove directories and their contents.")
    ] = False,
    message: Message = "",
) -> None:
    """Remove files from a branch in a new commit. Older commits keep them.

    Example: mill data rm x-ray:train/broken.png
    """
    places = [_place(mill, target) for target in targets]
    where = places[0]
    if any((place.project, place.dataset, place.ref) != (where.project, where.dataset, where.ref) for place in places):
        raise BadRequest("A commit changes one branch of one dataset.", hint="Run the command once for each branch.")
    if not all(place.path for place in places):
        raise BadRequest("No path given.", hint="Write it as DATASET@BRANCH:PATH.")
    paths = [place.path for place in places]
    commit = remove_paths(
        mill.api, where.project, where.dataset, paths, branch=where.ref, recursive=recursive, message=message
    )
    _tell(mill, where, commit)


def _place(mill: Session, written: str) -> Named:
    if ":" not in written:
        raise BadRequest(f"{written!r} has no path.", hint="Write it as DATASET[@BRANCH]:PATH.")
    return named(mill, written)


def _is_directory(mill: Session, where: Named) -> bool:
    try:
        next(list_entries(mill.api, where.project, where.dataset, where.ref, where.path), None)
    except NotFound:
        return False
    return True


def _below(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _tell(mill: Session, where: Named, commit: Commit) -> None:
    size = format_tree(commit.files, commit.bytes)
    mill.out.note(f"{where.dataset}@{where.ref} is now at {commit.id[:12]}: {size}.")
    if mill.out.as_json:
        mill.out.shape(commit, [])
