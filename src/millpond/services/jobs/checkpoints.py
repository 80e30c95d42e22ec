"""Checkpoints of jobs: noted with the job in the transaction that makes the commit certain, removed after a while."""

from __future__ import annotations

from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import jobs
from millpond.errors import ReadOnly, StalePlacement
from millpond.model.dataset import Commit
from millpond.model.job import Job
from millpond.model.names import CHECKPOINT_DATASET
from millpond.model.people import Actor
from millpond.services.commits import system_branches
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes

logger = getLogger(__name__)

_AT_ONCE = 100


def note(tx: Connection, commit: Commit, *, actor: Actor) -> None:
    """Make the commit the newest checkpoint of the actor's job. StalePlacement if another attempt has begun since."""
    job = jobs.lock(tx, actor.job_id or "")
    if job is None or job.status.placement_id != actor.placement_id:
        raise StalePlacement("This attempt of the job has ended: its checkpoint is not saved.")
    jobs.save(tx, job.changed(checkpoint_commit=commit.id, saved_at=commit.time))


def announce(deps: Deps, actor: Actor) -> None:
    """Tell pages that the actor's job has a new checkpoint."""
    with deps.db.read() as tx:
        job = jobs.get(tx, actor.job_id or "")
    if job is not None:
        job_changes.publish(deps, job)


def remove_old(deps: Deps, now: datetime) -> int:
    """Housekeeping: remove checkpoints of jobs that ended more than `checkpoint_days` ago; how many."""
    with deps.db.read() as tx:
        ended = jobs.with_checkpoint(tx, now - timedelta(days=deps.settings.checkpoint_days), limit=_AT_ONCE)
    for job in ended:
        try:
            remove(deps, job, now)
        except ReadOnly as error:  # of one project: the others' are removed all the same
            logger.info("checkpoint_not_removed job=%s reason=%s", job.id, error.message)
    return len(ended)


def remove(deps: Deps, job: Job, now: datetime) -> None:
    system_branches.remove(deps, job.project_id, CHECKPOINT_DATASET, job.id, now)
    with deps.db.write() as tx:
        current = jobs.lock(tx, job.id)
        if current is not None and current.status.checkpoint_commit == job.status.checkpoint_commit:
            jobs.save(tx, current.changed(checkpoint_commit=None))
