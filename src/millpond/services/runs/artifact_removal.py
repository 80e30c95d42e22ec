"""Removing artifacts of a run: its next commit is without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from millpond.db import datasets
from millpond.lake.branch_retry import on_newest
from millpond.model.names import ARTIFACT_DATASET
from millpond.model.path import to_text
from millpond.model.people import SYSTEM, Actor, Project
from millpond.model.run import Run
from millpond.services.commits import refs
from millpond.services.commits.accept import Proposal, accept
from millpond.services.commits.changes.branch import write_tree
from millpond.services.commits.packs.trust import NOBODY
from millpond.services.datasets import reading
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.runs import artifact_commits
from millpond.services.runs import runs as run_service


def remove(deps: Deps, actor: Actor, project: Project, run_id: str, path: str = "") -> int:
    """Remove a file, or all files of a folder (of the run without a path); how many. NotFound names the nearest."""
    with deps.db.read() as tx:
        run = run_service.find(tx, actor, project, run_id)
    artifact_commits.gather(deps, run.id)
    removed = on_newest(lambda: _remove(deps, project, run, path))
    data = {"project": run.project, "id": run.id, "what": "artifact"}
    deps.events.publish(f"run:{run.id}", project_id=run.project_id, data=data)
    return len(removed)


def _remove(deps: Deps, project: Project, run: Run, path: str) -> Sequence[bytes]:
    with deps.db.read() as tx:
        dataset = datasets.find(tx, project.id, ARTIFACT_DATASET)
        head = refs.head_commit(tx, dataset, run.id) if dataset else None
    if dataset is None or head is None:
        if path.strip("/"):
            raise access.not_found("artifact", path)
        return []
    directory, reader = reading.directory_path(path), reading.reader_of(deps, dataset, head)
    is_file = bool(directory) and reader.stat(directory) is not None
    removals = [directory] if is_file else [entry.path for entry in reader.entries(directory)]
    if not removals and directory:
        raise access.not_found("artifact", path, [to_text(entry.path) for entry in islice(reader.entries(), 1000)])
    if not removals:
        return []
    proposal = Proposal(
        tree=write_tree(deps, project.id, head.tree, (), removals),
        branch=run.id,
        expected=head.id,
        parents=(),
        message=f"Artifacts of {run.name}",
        owner=NOBODY,
        lineage=head.lineage,
        origins=[head.tree],
    )
    accept(deps, replace(SYSTEM, name=run.created_by), dataset, proposal)
    return removals
