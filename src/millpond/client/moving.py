"""`millpond.move("s3://bucket/prefix", "lab:raw")`: move files between a bucket and a directory, as a job."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import millpond.mover
from millpond.client.code import commit_code
from millpond.client.connections import connection_for, get_connection
from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.jobs import submit_job
from millpond.client.submitting import Submitted
from millpond.client.workspaces import get_workspace
from millpond.errors import BadName, BadRequest
from millpond.model.mount import mount_variable, workspace_variable
from millpond.model.names import check_name, environment_name
from millpond.wire.jobs import Job, JobCreate

# The name it has in the job's code: the package imports itself by relative names alone.
PACKAGE = "millpond_mover"
_RETRIES = 5


@dataclass(frozen=True, slots=True)
class MoveEnd:
    """Where files come from or go to: a place of a connection, a workspace, a shared mount or the files of a commit."""

    written: str
    kind: str  # s3, workspace, mount, dataset
    name: str
    path: str = ""


def move(
    source: str,
    target: str,
    *,
    connection: str | None = None,
    delete: bool = False,
    dry_run: bool = False,
    compute: str | None = None,
    server: str | None = None,
    project: str | None = None,
) -> Submitted:
    """Move what differs between `s3://bucket/prefix` and a workspace (`lab:dir`) or a mount (`mount:NAME/dir`), either
    way, or from `dataset@ref`.

    The job goes on where it was after whatever interrupts it. With `delete`, files that an earlier move has brought
    and whose originals are gone are removed. With `dry_run` nothing is changed.
    """
    ends = resolve_target(server, project)
    api = Api(ends.server, ends.token)
    job = submit_move(
        api, ends.project, source, target, connection=connection, delete=delete, dry_run=dry_run, compute=compute
    )
    return Submitted(api, job)


def submit_move(
    api: Api,
    project: str,
    source: str,
    target: str,
    *,
    connection: str | None = None,
    delete: bool = False,
    dry_run: bool = False,
    compute: str | None = None,
) -> Job:
    """Submit the job of a move; see `move`."""
    request = move_request(api, project, source, target, connection=connection, delete=delete, dry_run=dry_run)
    if compute is not None:
        request |= {"compute": compute}
    with program() as folder:
        commit = commit_code(api, project, folder, whole=True)
    return submit_job(api, project, JobCreate.model_validate({**request, "code_commit": commit.id}))


def move_request(
    api: Api, project: str, source: str, target: str, *, connection: str | None, delete: bool, dry_run: bool
) -> dict[str, Any]:
    """The job that does it, but for its code. BadRequest for two ends of one kind."""
    first, second = parse_end(source), parse_end(target)
    if (first.kind == "s3") == (second.kind == "s3"):
        raise BadRequest(
            "One end of a move is a bucket and the other is not.",
            hint="Write mill move s3://bucket/prefix WORKSPACE:dir, or the other way round.",
        )
    if second.kind == "dataset":
        raise BadRequest(f"{target!r} is a dataset.", hint=f"Import into datasets: mill data import {target} {source}")
    outwards = second.kind == "s3"
    place, local = (second, first) if outwards else (first, second)
    uri = place.written if place.written.endswith("/") else f"{place.written}/"
    through = connection or connection_for(api, project, uri)
    if (outwards and not dry_run) and not get_connection(api, project, through).writable:
        raise BadRequest(
            f"Connection {through!r} is for reading only.",
            hint=f"A project administrator can allow writing: mill connection set {through} --writable",
        )
    is_fixed = local.kind == "dataset" or (local.kind == "workspace" and _is_read_only(api, project, local))
    if is_fixed and not outwards:
        raise BadRequest(f"Workspace {local.name!r} is for reading only.", hint="Move into another one.")
    directory, needs = _directory(local)
    flags = [flag for flag, wanted in (("--out", outwards), ("--delete", delete), ("--dry-run", dry_run)) if wanted]
    if is_fixed:
        flags += ["--state", "$MILL_OUTPUT"]
    return {
        "name": None,
        "command": ["python3", "-m", PACKAGE, through, uri, directory, *flags],
        "retries": _RETRIES,
        "tags": {"move": f"{source} {target}"},
        **needs,
    }


def parse_end(written: str) -> MoveEnd:
    """`s3://bucket/prefix`, `WORKSPACE[:dir]`, `mount:NAME[/dir]` or `dataset@ref[:path]`."""
    if "://" in written:
        if not written.startswith("s3://"):
            raise BadRequest(f"{written[:200]!r} cannot be moved.", hint="Moves work with s3://.")
        return MoveEnd(written, "s3", written)
    kind, separator, rest = written.partition(":")
    if kind == "mount" and separator:
        name, _, path = rest.partition("/")
        return MoveEnd(written, "mount", name, _plain(path))
    name, _, path = written.partition(":")
    if "@" in name:
        return MoveEnd(written, "dataset", name, _plain(path))
    try:
        return MoveEnd(written, "workspace", check_name(name, "workspace"), _plain(path))
    except BadName as error:
        raise BadRequest(
            f"{written[:200]!r} is no end of a move.",
            hint="Write s3://bucket/prefix, WORKSPACE:dir, mount:NAME/dir, or DATASET@REF for the files of a commit.",
        ) from error


def _is_read_only(api: Api, project: str, end: MoveEnd) -> bool:
    return get_workspace(api, project, end.name).read_only


def _directory(local: MoveEnd) -> tuple[str, dict[str, Any]]:
    """Where the files lie in the job, and what of the specification makes it so."""
    below = f"/{local.path}" if local.path else ""
    if local.kind == "dataset":
        dataset = local.name.partition("@")[0].rpartition("/")[2]
        return f"${environment_name(dataset)}{below}", {"inputs": [local.name]}
    if local.kind == "workspace":
        workspace = {"workspace": local.name, "target": f"/mnt/{local.name}"}
        return f"${workspace_variable(local.name)}{below}", {"workspaces": [workspace]}
    mount = {"mount": local.name, "target": f"/mnt/{local.name}", "read_only": False}
    return f"${mount_variable(local.name)}{below}", {"mounts": [mount]}


def _plain(path: str) -> str:
    parts = PurePosixPath(path.strip("/")).parts
    if ".." in parts:
        raise BadRequest(f"{path[:200]!r} leads out of its directory.")
    return "/".join(parts)


@contextmanager
def program() -> Iterator[Path]:
    """The mover's own files, to go with the job."""
    top = Path(millpond.mover.__file__).parent
    with tempfile.TemporaryDirectory(prefix="mill-move-") as folder:
        shutil.copytree(top, Path(folder, PACKAGE), ignore=shutil.ignore_patterns("__pycache__"))
        yield Path(folder)
