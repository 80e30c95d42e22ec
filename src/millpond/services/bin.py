"""The bin: deleted jobs and runs, and removing for good what has lain there long enough.

Objects and files go first, rows last: a purge that is cut off is done again from the rows that are left. What has
lain there too long cannot be brought back (services/jobs.py), so nothing is restored half-way through.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import commits, datasets, jobs, runs
from millpond.db.datasets import PendingRecord
from millpond.lake.records import Move
from millpond.model.dataset import Dataset, RefType
from millpond.model.job import Job
from millpond.model.names import OUTPUT_DATASET
from millpond.model.people import SYSTEM
from millpond.services import audit, logs, records
from millpond.services.deps import Deps

logger = getLogger(__name__)

_AT_ONCE = 100


def purge(deps: Deps, now: datetime) -> int:
    """Housekeeping: remove what was deleted more than `bin_days` ago; how many jobs and runs."""
    oldest = now - timedelta(days=deps.settings.bin_days)
    with deps.db.read() as tx:
        old_jobs = jobs.deleted_before(tx, oldest, limit=_AT_ONCE)
        old_runs = runs.deleted_before(tx, oldest, limit=_AT_ONCE)
    for job in old_jobs:
        _purge_job(deps, job, now)
    for run in old_runs:
        _remove_artifacts(deps, run.id)
        with deps.db.write() as tx:
            runs.delete(tx, run.id)
            audit.record(
                tx, now=now, actor=SYSTEM, action="run.purge", subject=f"{run.project}/{run.id}",
                project_id=run.project_id,
            )  # fmt: skip
    return len(old_jobs) + len(old_runs)


def _purge_job(deps: Deps, job: Job, now: datetime) -> None:
    _release_outputs(deps, job, now)
    _remove_artifacts(deps, job.run_id)
    logs.remove(deps, job.id)
    with deps.db.write() as tx:
        jobs.delete(tx, job.id)
        runs.delete(tx, job.run_id)
        audit.record(
            tx, now=now, actor=SYSTEM, action="job.purge", subject=f"{job.project}/{job.name}",
            project_id=job.project_id, details={"job": job.id},
        )  # fmt: skip
    logger.info("job_purged job=%s", job.id)


def _release_outputs(deps: Deps, job: Job, now: datetime) -> None:
    """Let go of the branch that keeps the outputs alive, unless something else was made from them."""
    with deps.db.read() as tx:
        dataset = datasets.find(tx, job.project_id, OUTPUT_DATASET)
        if dataset is None or job.output_commit is None or jobs.uses_commit(tx, job.output_commit, besides=job.id):
            return
        if commits.find_ref(tx, dataset.id, job.id) is None:
            return
    records.write(deps, lambda tx: _reserve_removal(tx, dataset, job.id, now))


def _reserve_removal(tx: Connection, dataset: Dataset, branch: str, now: datetime) -> PendingRecord:
    records.wait_for_lock(tx, dataset.id, branch)
    current = commits.find_ref(tx, dataset.id, branch)
    move = Move(ref=branch, type=RefType.BRANCH, commit=None, previous=current.commit_id if current else None)
    return records.reserve(tx, dataset, move, lock=branch, by=SYSTEM.name, now=now)


def _remove_artifacts(deps: Deps, run_id: str) -> None:
    after = ""
    while True:
        with deps.db.read() as tx:
            found = runs.artifacts(tx, run_id, limit=_AT_ONCE, after=after)
        if not found:
            return
        for artifact in found:
            deps.store.delete(artifact.key)
        after = found[-1].path
