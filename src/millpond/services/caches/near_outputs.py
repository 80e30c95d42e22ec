"""Keeps near what jobs make: their outputs go to a volume of the site, from the disk of the agent that ran them.

The agent has the files for some minutes (`agent/kept_outputs.py`), so a fill that it makes now fetches nothing. Steps
of flows are left out: the next step asks for exactly what it reads, at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import caches, volumes
from millpond.db.caches import CachedView, CommitSize
from millpond.decide.admission import Admit
from millpond.decide.eviction import leaves_ample_room
from millpond.errors import MillError
from millpond.model.agent import Agent
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobKind
from millpond.model.volume import Volume
from millpond.services.caches.access import announce
from millpond.services.caches.admission.admit import begin_fill, would_admit
from millpond.services.caches.admission.stock import limits_of, stock_of
from millpond.services.deps import Deps

logger = getLogger(__name__)

_KINDS = (JobKind.TRAINING, JobKind.INTERACTIVE)
# Less is fetched as quickly as it is published, and there may be hundreds of such jobs.
_LEAST_BYTES = 1_000_000


def keep_near(deps: Deps, agent: Agent, changed: Iterable[Job], now: datetime) -> None:
    """Begin a fill of the outputs of each job that has just succeeded, where a volume has ample room for them."""
    for job in changed:
        commit_id = job.status.output_commit
        if job.status.state is JobState.SUCCEEDED and commit_id is not None and job.spec.kind in _KINDS:
            try:
                begun = _begin(deps, agent, job, commit_id, now)
            except MillError as error:  # the job has succeeded, whatever becomes of this
                logger.info("outputs_not_kept_near job=%s reason=%s", job.id, error.message)
                continue
            if begun is not None:
                announce(deps, [begun], "changed")


def _begin(deps: Deps, agent: Agent, job: Job, commit_id: str, now: datetime) -> CachedView | None:
    with deps.db.write() as tx:
        size = caches.size_of(tx, commit_id)
        tended = [one for one in volumes.all_of(tx) if one.filler_id == agent.id and one.problem is None]
        if size is None or size.bytes < _LEAST_BYTES:
            return None
        for volume in tended:
            locked = volumes.lock(tx, volume.id)
            if locked is not None and _has_ample_room(tx, locked, size, now):
                return begin_fill(tx, locked, size, requested_by=job.created_by, now=now, ahead=True).cached
    return None


def _has_ample_room(tx: Connection, volume: Volume, size: CommitSize, now: datetime) -> bool:
    """True if nothing is evicted for it, now or by the volume's watermark: nobody has asked for these outputs yet."""
    answer, stock = would_admit(tx, volume, size, now), stock_of(tx, volume.id, now)
    is_free = isinstance(answer.decision, Admit) and not answer.decision.evict
    return is_free and leaves_ample_room(limits_of(volume, stock), stock, answer.need.room)
