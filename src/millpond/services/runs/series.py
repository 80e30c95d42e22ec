"""Metrics and usage as charts want them: exact when short, thinned with their peaks when long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from millpond.db import metrics, usage
from millpond.db import runs as run_rows
from millpond.db.metrics import Metric
from millpond.errors import BadRequest
from millpond.model.job import Job
from millpond.model.people import Actor, Project
from millpond.model.run import Run, UsageSample
from millpond.model.series import LEAST_STEP, MOST_STEP, Points, Series
from millpond.services.deps import Deps
from millpond.services.listing import Listing, encode, number_of
from millpond.services.people import access
from millpond.services.runs import logs, runs
from millpond.services.runs.stored_series import parts_of, thinned
from millpond.wire.agent import UsageBatch

USAGE_POINTS = 500
# So many series are in memory at once before they are thinned.
_AT_ONCE = 20


def metric_series(
    deps: Deps, actor: Actor, project: Project, run_ids: Sequence[str], *, keys: Sequence[str] | None, limit: int,
    start: int | None = None, end: int | None = None,
) -> list[Series]:  # fmt: skip
    """Series of these runs, by run and key: all keys, or these. Each at most `limit` points from `start` to `end`."""
    _check_range(start, end)
    with deps.db.read() as tx:
        found = _find_all(tx, actor, project, run_ids)
        wanted = metrics.of_runs(tx, run_ids, keys)
        loose = metrics.unfolded(
            tx, [run_id for run_id in run_ids if found[run_id].unfolded], {one.id for one in wanted}
        )
        order = {run_id: place for place, run_id in enumerate(run_ids)}
        series: list[Series] = []
        for group in _grouped(sorted(wanted, key=lambda one: (order[one.run_id], one.key))):
            chunks = dict(metrics.chunks(tx, [one.id for one in group], start=start, end=end))
            for one in group:
                parts = parts_of(chunks.get(one.id, ()), loose.get(one.id, ()), start, end)
                series.append(Series(one.run_id, one.key, *thinned(parts, limit)))
    return series


def metric_history(
    deps: Deps, actor: Actor, project: Project, run_id: str, key: str, *, limit: int, cursor: str | None
) -> Listing[Series]:
    """Every point of one metric, a page at a time, as a list of one series."""
    begin = number_of(cursor) or 0
    with deps.db.read() as tx:
        found = _find_all(tx, actor, project, [run_id])
        one = next(iter(metrics.of_runs(tx, [run_id], [key])), None)
        if one is None:
            names = [metric.key for metric in metrics.of_runs(tx, [run_id])]
            raise access.not_found("metric", key, names)
        loose = metrics.unfolded(tx, [run_id] if found[run_id].unfolded else [], {one.id})
        chunks = dict(metrics.chunks(tx, [one.id], start=None, end=None))
    parts = parts_of(chunks.get(one.id, ()), loose.get(one.id, ()), None, None)
    points = Points.joined(part.read() for part in parts)
    page = points.cut(begin, begin + limit)
    following = encode(begin + limit) if begin + limit < len(points) else None
    return Listing([Series(run_id, key, page, len(points))], following)


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


def _find_all(tx: Connection, actor: Actor, project: Project, run_ids: Sequence[str]) -> dict[str, Run]:
    """The runs by their ids; NotFound names the first that the actor cannot see."""
    if actor.job_id is not None:
        return {run_id: runs.find(tx, actor, project, run_id) for run_id in run_ids}
    found = {run.id: run for run in run_rows.of_project(tx, project.id, run_ids)}
    for run_id in run_ids:
        if run_id not in found:
            raise access.not_found("run", run_id, run_rows.ids(tx, project.id))
    return found


def _check_range(start: int | None, end: int | None) -> None:
    if any(step is not None and not LEAST_STEP <= step <= MOST_STEP for step in (start, end)):
        raise BadRequest("A step must be a signed 64-bit integer.")


def _grouped(wanted: Sequence[Metric]) -> Iterator[Sequence[Metric]]:
    for begin in range(0, len(wanted), _AT_ONCE):
        yield wanted[begin : begin + _AT_ONCE]
