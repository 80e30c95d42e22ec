"""The bin: removes deleted jobs and runs for good when their time there is over.

Objects and files are removed first, rows last, so an interrupted purge continues from the rows that are left. Expired
items cannot be restored (services/jobs/jobs.py), so nothing is restored half purged.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from logging import getLogger

from millpond.db import commits, datasets, jobs, lineage, runs
from millpond.errors import ReadOnly
from millpond.lake.keys import ProjectKeys
from millpond.model.component import ComponentRef
from millpond.model.job import Job
from millpond.model.names import ARTIFACT_DATASET, CHECKPOINT_DATASET, CODE_DATASET, OUTPUT_DATASET, STEP_DATASET
from millpond.model.people import SYSTEM
from millpond.services.commits import system_branches
from millpond.services.deps import Deps
from millpond.services.people import audit
from millpond.services.runs import logs

logger = getLogger(__name__)

_AT_ONCE = 100


def purge(deps: Deps, now: datetime) -> int:
    """Remove what was deleted more than `bin_days` ago; return how many jobs and runs."""
    oldest = now - timedelta(days=deps.settings.bin_days)
    with deps.db.read() as tx:
        old_jobs = jobs.deleted_before(tx, oldest, limit=_AT_ONCE)
        old_runs = runs.deleted_before(tx, oldest, limit=_AT_ONCE)
    for job in old_jobs:
        try:
            _purge_job(deps, job, now)
        except ReadOnly as error:  # of one project: the others' bins are emptied all the same
            logger.info("job_not_purged job=%s reason=%s", job.id, error.message)
    for run in old_runs:
        _remove_artifacts(deps, run.project_id, run.id, now)
        with deps.db.write() as tx:
            runs.delete(tx, run.id)
            audit.record(
                tx, now=now, actor=SYSTEM, action="run.purge", subject=f"{run.project}/{run.id}",
                project_id=run.project_id,
            )  # fmt: skip
    return len(old_jobs) + len(old_runs)


def _purge_job(deps: Deps, job: Job, now: datetime) -> None:
    _release(deps, job, OUTPUT_DATASET, job.status.output_commit, now, is_needed=lineage.is_used)
    # As long as there is something that was made with it, a collection keeps it all the same.
    _release(deps, job, CODE_DATASET, job.spec.code_commit, now, is_needed=lineage.is_named_by_job)
    for passed in {one.commit_id for one in job.spec.inputs if one.name == STEP_DATASET}:
        _release(deps, job, STEP_DATASET, passed, now, is_needed=lineage.is_named_by_job)
    system_branches.remove(deps, job.project_id, CHECKPOINT_DATASET, job.id, now)
    _remove_artifacts(deps, job.project_id, job.run_id, now)
    logs.remove(deps, job)
    with deps.db.write() as tx:
        jobs.delete(tx, job.id)
        runs.delete(tx, job.run_id)
        audit.record(
            tx, now=now, actor=SYSTEM, action="job.purge", subject=f"{job.project}/{job.name}",
            project_id=job.project_id, details={"job": job.id},
        )  # fmt: skip
    logger.info("job_purged job=%s", job.id)


def _release(
    deps: Deps, job: Job, name: str, commit_id: str | None, now: datetime, *, is_needed: Callable[..., bool]
) -> None:
    """Delete the branches that keep its outputs or its code, unless something else needs them."""
    with deps.db.read() as tx:
        dataset = datasets.find(tx, job.project_id, name)
        if dataset is None or commit_id is None or is_needed(tx, commit_id, besides=job.id):
            return
        branches = commits.ref_names(tx, [commit_id]).get(commit_id, ())
    for branch in branches:
        if ComponentRef.of_branch(branch) is not None:
            continue  # the library keeps it, whatever becomes of the jobs that ran it
        system_branches.remove(deps, job.project_id, name, branch, now)


def _remove_artifacts(deps: Deps, project_id: str, run_id: str, now: datetime) -> None:
    """Delete the branch that keeps them, and loose objects of earlier versions, even without a row."""
    system_branches.remove(deps, project_id, ARTIFACT_DATASET, run_id, now)
    for info in deps.store.list(ProjectKeys(project_id).artifacts(run_id)):
        deps.store.delete(info.key)
