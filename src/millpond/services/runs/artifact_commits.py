"""Gathering artifacts: what was staged for a run becomes its next commit, one for all of it.

On a timer, before a collection, and whenever somebody reads (docs/design/013-artifacts-and-lineage.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from logging import getLogger
from typing import Any

from sqlalchemy import Connection

from millpond.db import artifacts, jobs, lineage, projects, runs
from millpond.db.artifacts import StagedArtifact
from millpond.errors import BadPath, Incomplete, MillError
from millpond.lake.branch_retry import on_newest
from millpond.lake.reader import TreeReader
from millpond.model.dataset import Commit, Dataset
from millpond.model.names import ARTIFACT_DATASET
from millpond.model.people import SYSTEM
from millpond.model.run import Run
from millpond.services.commits import refs
from millpond.services.commits.accept import Proposal, accept
from millpond.services.commits.changes.branch import write_tree
from millpond.services.commits.commits import lineage_of_job
from millpond.services.commits.pages import ProjectPages
from millpond.services.datasets.datasets import ensure_system_dataset
from millpond.services.deps import Deps
from millpond.services.runs import small_uploads
from millpond.services.runs.artifact_staging import check_place, packs_of

logger = getLogger(__name__)

TOPIC = "artifacts"
SECONDS = 30.0
_AT_ONCE = 1000
_LOOSE_AT_ONCE = 20


def gather_all(deps: Deps, now: datetime) -> int:
    """Housekeeping: a commit for every run with staged artifacts, and some runs' loose ones taken in; how many runs."""
    with deps.db.read() as tx:
        waiting = [
            *artifacts.runs_with_staged(tx, limit=_AT_ONCE),
            *artifacts.runs_with_loose(tx, limit=_LOOSE_AT_ONCE),
        ]
    for run_id in dict.fromkeys(waiting):
        try:
            gather(deps, run_id)
        except MillError as error:  # one that cannot be gathered now holds no other up
            logger.warning("artifacts_not_gathered run=%s why=%s", run_id, error.message)
    return len(waiting)


def gather_project(deps: Deps, project_id: str) -> bool:
    """Before a collection: False if something of the project is staged still, whose packs nothing else protects."""
    with deps.db.read() as tx:
        waiting = artifacts.runs_with_staged(tx, project_id=project_id, limit=_AT_ONCE)
    for run_id in waiting:
        gather(deps, run_id)
    with deps.db.read() as tx:
        return not artifacts.runs_with_staged(tx, project_id=project_id, limit=1)


def gather_named(deps: Deps, dataset: Dataset, ref: str) -> None:
    """Gather what `.artifacts@ref` means, before it is resolved: a run by its id, or the run of a job."""
    gather(deps, ref)
    with deps.db.read() as tx:
        job = refs.find_job(tx, dataset, ref)
    if job is not None:
        gather(deps, job.run_id)


def gather(deps: Deps, run_id: str) -> None:
    """Everything staged for the run so far is in its newest commit when this returns. Safe to call at any time."""
    with deps.db.read() as tx:
        if not artifacts.is_waiting(tx, run_id):
            return
        run = runs.get(tx, run_id)
        project = projects.get(tx, run.project_id) if run else None
    if run is None or project is None:
        return
    small_uploads.take_in(deps, run)
    dataset = ensure_system_dataset(deps, project, ARTIFACT_DATASET)
    on_newest(lambda: _gather(deps, run, dataset))


def _gather(deps: Deps, run: Run, dataset: Dataset) -> None:
    """One commit for each owner of packs: what somebody else has sent is looked at before it is built on."""
    with deps.db.read() as tx:
        # The head before the rows: rows are never older than the tree that they go on top of.
        head = refs.head_commit(tx, dataset, run.id)
        staged = artifacts.staged(tx, run.id)
        origin = _lineage(tx, run)
    by_owner = sorted(staged, key=lambda item: item.owner)
    for owner, group in groupby(by_owner, key=lambda item: item.owner):
        head = _commit(deps, run, dataset, head, owner, list(group), origin)


def _commit(
    deps: Deps, run: Run, dataset: Dataset, head: Commit | None, owner: str, staged: Sequence[StagedArtifact],
    origin: Mapping[str, Any],
) -> Commit | None:  # fmt: skip
    """The branch's newest commit afterwards. RefMoved if another server or process was quicker."""
    fitting = _fitting(deps, run, head, staged)
    puts = sorted((item.entry for item in fitting), key=lambda entry: entry.path)
    if puts:
        tree = write_tree(deps, dataset.project_id, head.tree if head else None, puts, ())
        if head is None or head.tree != tree:
            proposal = Proposal(
                tree=tree,
                branch=run.id,
                expected=head.id if head else None,
                parents=(),
                message=f"Artifacts of {run.name}",
                owner=owner,
                lineage=origin,
                origins=[head.tree] if head else [],
            )
            try:
                head = accept(deps, replace(SYSTEM, name=run.created_by), dataset, proposal)
            except Incomplete:
                if not _drop_lost(deps, run, fitting):
                    raise
                return _commit(deps, run, dataset, head, owner, _left(deps, run, owner), origin)
    with deps.db.write() as tx:
        artifacts.unstage(tx, [item.id for item in staged])
    return head


def _fitting(deps: Deps, run: Run, head: Commit | None, staged: Sequence[StagedArtifact]) -> list[StagedArtifact]:
    """Without those whose place another file took between the check and now: two processes logged both at once."""
    pages = ProjectPages(deps.store, deps.pages, run.project_id)
    reader = TreeReader(pages, head.tree) if head is not None else None
    kept: list[StagedArtifact] = []
    for item in sorted(staged, key=lambda item: item.id):
        try:
            check_place(item.entry.path, reader, {other.entry.path for other in kept})
        except BadPath as error:
            logger.warning("artifact_dropped run=%s path=%r why=%s", run.id, item.entry.path, error.message)
        else:
            kept.append(item)
    return kept


def _drop_lost(deps: Deps, run: Run, staged: Sequence[StagedArtifact]) -> bool:
    """Forget artifacts whose content was found to be damaged: True if there were any."""
    lost: list[StagedArtifact] = []
    for item in staged:
        try:
            packs_of(deps, run.project_id, item.owner, [item.entry])
        except Incomplete:
            lost.append(item)
            logger.error("artifact_lost run=%s path=%r why=its content is damaged", run.id, item.entry.path)
    with deps.db.write() as tx:
        artifacts.unstage(tx, [item.id for item in lost])
    return bool(lost)


def _left(deps: Deps, run: Run, owner: str) -> list[StagedArtifact]:
    with deps.db.read() as tx:
        return [item for item in artifacts.staged(tx, run.id) if item.owner == owner]


def _lineage(tx: Connection, run: Run) -> Mapping[str, Any]:
    job = jobs.get(tx, run.job_id) if run.job_id else None
    if job is not None:
        return {"run": run.id, **lineage_of_job(job)}
    read = sorted(lineage.read_by_run(tx, run.id))
    return {"run": run.id, **({"inputs": read} if read else {})}
