"""`export_data`, `import_data` and `have_data`: exports for scripts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from millpond.client.credentials import ServerTarget, resolve_target
from millpond.client.exporting import Exported, WantedRef, commits_here, export_commits
from millpond.client.http import Api
from millpond.client.importing import Imported, import_export
from millpond.errors import BadName
from millpond.lake.exports.manifest import decode_have, encode_have
from millpond.lake.exports.reading import ExportFile
from millpond.model.names import DEFAULT_BRANCH, DatasetRef

StrPath = str | os.PathLike[str]


def export_data(
    datasets: str | Sequence[str],
    path: StrPath,
    *,
    have: StrPath | None = None,
    force: bool = False,
    project: str | None = None,
) -> Exported:
    """Write commits (`dataset@ref`) to one verified file, for a site without a network connection.

    With `have`, a file of `have_data` or `mill data have`, only what the other site lacks.
    """
    target = resolve_target(project=project)
    names = [datasets] if isinstance(datasets, str) else datasets
    there = decode_have(Path(have).read_bytes(), Path(have).name) if have is not None else None
    with Api(target.server, target.token) as api:
        return export_commits(api, [_wanted(name, target) for name in names], Path(path), have=there, force=force)


def have_data(datasets: str | Sequence[str], path: StrPath, *, project: str | None = None) -> None:
    """Write which commits of datasets this server has, for `export_data` at another one."""
    target = resolve_target(project=project)
    names = [datasets] if isinstance(datasets, str) else datasets
    with Api(target.server, target.token) as api:
        Path(path).write_bytes(encode_have(commits_here(api, [_wanted(name, target) for name in names])))


def import_data(
    path: StrPath, *, dataset: str | None = None, branch: str | None = None, project: str | None = None
) -> Imported:
    """Import a file of `export_data` or `mill data export`. Made again, it imports nothing.

    RefMoved if a branch has commits that the exported one does not descend from.
    """
    target = resolve_target(project=project)
    with Api(target.server, target.token) as api, ExportFile(Path(path)) as file:
        return import_export(api, file, target.project, dataset=dataset, branch=branch)


def _wanted(written: str, target: ServerTarget) -> WantedRef:
    ref = DatasetRef.parse(written)
    if ref.path is not None:
        raise BadName(f"{written!r} includes a path.", hint="Whole commits are exported: give dataset@ref.")
    return WantedRef(ref.project or target.project, ref.dataset, ref.ref or DEFAULT_BRANCH)
