"""`mill data import FILE`: what `mill data export` wrote elsewhere, at a server or straight onto a volume."""

from __future__ import annotations

from pathlib import Path

from millpond.cli.progress import Meter, going_on, tell
from millpond.cli.session import Session
from millpond.client.importing import Imported, import_export
from millpond.errors import BadRequest
from millpond.lake.exports.reading import ExportFile
from millpond.model.names import DatasetRef, check_ref_name
from millpond.model.quantity import format_bytes, format_seconds, format_tree
from millpond.volumes.importing import ImportedTree, import_onto


def import_file(mill: Session, path: Path, *, name: str | None, branch: str | None, volume: Path | None) -> None:
    if volume is not None and (name or branch):
        raise BadRequest("--as and --branch name what a server has; a volume takes commits as they are.")
    if branch is not None:
        check_ref_name(branch)
    with _checked(mill, path) as file:
        if volume is None:
            _at_server(mill, file, name, branch)
        else:
            _onto_volume(mill, file, volume)


def _checked(mill: Session, path: Path) -> ExportFile:
    """All of the file is read before anything changes."""
    size = path.stat().st_size if path.is_file() else 0
    with Meter(mill.out, f"Checking {path.name}") as meter:
        return ExportFile(path, lambda done: meter.update(done=done, total=size))


def _at_server(mill: Session, file: ExportFile, name: str | None, branch: str | None) -> None:
    target = DatasetRef.parse(name) if name else None
    if target is not None and (target.ref or target.path):
        raise BadRequest(f"--as names a dataset, not {name!r}.", hint="Name the branch with --branch.")
    project = (target and target.project) or mill.project
    with Meter(mill.out, f"Importing {file.path.name}") as meter, going_on():
        done = import_export(
            mill.api, file, project, dataset=target.dataset if target else None, branch=branch, progress=tell(meter)
        )
    for one in done.commits:
        where = f"{one.dataset}@{one.branch}"
        size = format_tree(one.commit.files, one.commit.bytes)
        if one.is_new:
            mill.out.note(f"{where} is now at {one.commit.id[:12]}: {size}, from {one.exported.id[:12]}.")
        else:
            mill.out.note(f"{where} has {one.exported.id[:12]} already, as {one.commit.id[:12]} ({size}).")
    if done.is_new:
        mill.out.note(f"Sent {format_bytes(done.sent)} in {format_seconds(meter.seconds)}.")
    else:
        mill.out.note("Nothing new was imported.")
    if mill.out.as_json:
        mill.out.json(_document(file, done))


def _document(file: ExportFile, done: Imported) -> dict[str, object]:
    commits = [
        {"dataset": f"{one.project}/{one.dataset}", "branch": one.branch, "commit": one.commit.id,
         "origin": one.exported.id, "new": one.is_new}
        for one in done.commits
    ]  # fmt: skip
    return {"file": str(file.path), "digest": file.digest, "sent": done.sent, "commits": commits}


def _onto_volume(mill: Session, file: ExportFile, volume: Path) -> None:
    with Meter(mill.out, f"Importing {file.path.name}") as meter:
        told = tell(meter)
        done = import_onto(volume.absolute(), file, progress=lambda one: told)
    for one in done:
        written = f"{one.exported.dataset}@{one.exported.ref}"
        size = format_tree(one.exported.files, one.exported.bytes)
        mill.out.note(f"{written} {'is now' if one.is_new else 'was already'} at {one.path}: {size}.")
    if not any(one.is_new for one in done):
        mill.out.note("Nothing new was imported.")
    if mill.out.as_json:
        mill.out.json({"file": str(file.path), "digest": file.digest, "commits": [_placed(one) for one in done]})


def _placed(one: ImportedTree) -> dict[str, object]:
    exported = one.exported
    return {
        "dataset": f"{exported.project}/{exported.dataset}",
        "commit": exported.id,
        "path": str(one.path),
        "new": one.is_new,
    }
