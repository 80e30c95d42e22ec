"""Metrics and usage as charts want them: whole when short, thinned with their peaks when long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millpond.db import metrics, usage
from millpond.db.metrics import StoredPoint
from millpond.decide.series import thin
from millpond.model.job import Job
from millpond.model.people import Actor, Project
from millpond.model.run import UsageSample
from millpond.services.deps import Deps
from millpond.services.runs import logs, runs
from millpond.wire.agent import UsageBatch

USAGE_POINTS = 500


@dataclass(frozen=True, slots=True)
class Series:
    key: str
    points: Sequence[StoredPoint]
    total: int


def metric_series(
    deps: Deps, actor: Actor, project: Project, run_id: str, *, key: str | None, limit: int
) -> list[Series]:
    """One metric of a run, or all of them; each at most `limit` points."""
    with deps.db.read() as tx:
        runs.find(tx, actor, project, run_id)
        keys = metrics.keys(tx, run_id) if key is None else [key]
        found = {name: metrics.points(tx, run_id, name) for name in keys}
    return [Series(name, thin(points, limit, lambda point: point.value), len(points)) for name, points in found.items()]


def add_usage(deps: Deps, actor: Actor, placement_id: str, batch: UsageBatch) -> None:
    """What the agent sampled of its placement; a sample of the same moment counts once."""
    _, job = logs.own_placement(deps, actor, placement_id)
    samples = [UsageSample(**dict(sample)) for sample in batch.samples]
    with deps.db.write() as tx:
        usage.add(tx, job.id, samples)
    data = {"project": job.project, "id": job.run_id, "what": "usage"}
    deps.events.publish(f"run:{job.run_id}", project_id=job.project_id, data=data)


def usage_series(deps: Deps, job: Job) -> Sequence[UsageSample]:
    """A long series is thinned by the database: a week of samples is not carried here to be thrown away."""
    with deps.db.read() as tx:
        return usage.of_job(tx, job.id, most=USAGE_POINTS)
