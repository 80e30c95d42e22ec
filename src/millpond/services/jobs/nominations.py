"""Preemption, and the jobs it is for: they are nominated, and start when those they take the room of have ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import jobs, scheduling
from millpond.db.scheduling import Nomination
from millpond.decide import job_life
from millpond.decide.scheduling.plan import Preemption, Start
from millpond.model.job import Job, JobState
from millpond.services.jobs import job_changes
from millpond.services.jobs.loaded import Loaded
from millpond.services.jobs.placements import Chosen, on_template

logger = getLogger(__name__)

_PLACED = (JobState.PLACED, JobState.PREPARING, JobState.RUNNING)


def preempt(tx: Connection, preemptions: Sequence[Preemption], now: datetime) -> list[Job]:
    """Ask for the end of jobs that others need the room of; those that changed. One that ends anyway is left alone."""
    changed: list[Job] = []
    for one in sorted(preemptions, key=lambda one: one.job):  # in one order, so that two servers do not wait in turns
        job = jobs.lock(tx, one.job)
        if job is None or job.status.state not in _PLACED or job.status.stop_requested_at is not None:
            continue
        after = job_life.preempt(job, one.rule, now)
        job_changes.save(tx, job, after, now, by=one.taker)
        changed.append(after)
        logger.info("job_preempted job=%s taker=%s rule=%s", one.job, one.taker, one.rule)
    return changed


def nominate(tx: Connection, chosen: Chosen, victims: Sequence[str], now: datetime) -> bool:
    """Keep the room for a job until its victims have ended; False if it waits no more, or is nominated already."""
    job = jobs.lock(tx, chosen.job_id)
    if job is None or job.status.state is not JobState.QUEUED:
        return False
    if any(one.job_id == job.id for one in scheduling.nominations(tx)):
        return False
    job_changes.save(tx, job, on_template(tx, job, chosen.template), now)
    scheduling.nominate(
        tx, Nomination(job.id, chosen.compute_id, chosen.places, chosen.rule, tuple(victims), now)
    )  # fmt: skip
    scheduling.note_rules(tx, [(job.id, "nominated", None)])
    logger.info("job_nominated job=%s node=%s victims=%s", job.id, chosen.node, ",".join(victims))
    return True


def ending(loaded: Loaded) -> Mapping[str, list[str]]:
    """Jobs that have been told to stop and hold their room still, by compute and node as it is written."""
    found: dict[str, list[str]] = {}
    for row in loaded.running:
        if row.stop_requested_at is None:
            continue
        for node in {place["node"] for place in row.places} or {row.node}:
            view = loaded.world.nodes.get((row.compute_id, node))
            if view is not None:
                found.setdefault(view.written, []).append(row.id)
    return found


def in_the_way(start: Start, still_ending: Mapping[str, Sequence[str]]) -> list[str]:
    """Jobs whose end a start has to wait for, if room is not free though the plan says so."""
    nodes = {seat.node for seat in start.seats}
    return sorted({job_id for node in nodes for job_id in still_ending.get(node, ())} | set(start.victims))
