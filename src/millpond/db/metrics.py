"""Metrics of runs: every point, and the newest value of each key kept beside them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from millpond.db.insert import insert_missing
from millpond.db.tables import metric, metric_point
from millpond.model.run import MetricPoint


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A value of None stands for NaN and the infinities."""

    step: int
    value: float | None
    at: datetime


def add(tx: Connection, run_id: str, points: Sequence[MetricPoint]) -> None:
    """Only while the run is locked: the newest value of a key is the one with the greatest step, the last of equals."""
    by_key: dict[str, list[MetricPoint]] = defaultdict(list)
    for point in points:
        by_key[point.key].append(point)
    if not by_key:
        return
    fresh = [{"run_id": run_id, "key": key, "newest": None, "newest_step": -(2**63), "points": 0} for key in by_key]
    insert_missing(tx, metric, fresh)
    rows = tx.execute(select(metric).where(metric.c.run_id == run_id, metric.c.key.in_(list(by_key)))).all()
    for row in rows:
        added = by_key[row.key]
        newest = max(enumerate(added), key=lambda item: (item[1].step, item[0]))[1]
        values: dict[str, object] = {"points": row.points + len(added)}
        if newest.step >= row.newest_step:
            values |= {"newest": _stored(newest.value), "newest_step": newest.step}
        tx.execute(metric.update().where(metric.c.id == row.id).values(**values))
    ids = {row.key: row.id for row in rows}
    tx.execute(
        metric_point.insert(),
        [{"metric_id": ids[p.key], "step": p.step, "value": _stored(p.value), "at": p.at} for p in points],
    )


def newest(tx: Connection, run_ids: Collection[str]) -> Mapping[str, Mapping[str, float]]:
    """The newest value of every key of every run; keys whose newest value is NaN are left out."""
    found: dict[str, dict[str, float]] = {run_id: {} for run_id in run_ids}
    query = select(metric.c.run_id, metric.c.key, metric.c.newest).where(metric.c.run_id.in_(list(run_ids)))
    for row in tx.execute(query.where(metric.c.newest.is_not(None)).order_by(metric.c.key)):
        found[row.run_id][row.key] = row.newest
    return found


def keys(tx: Connection, run_id: str) -> Sequence[str]:
    return tx.scalars(select(metric.c.key).where(metric.c.run_id == run_id).order_by(metric.c.key)).all()


def points(tx: Connection, run_id: str, key: str) -> Sequence[StoredPoint]:
    """By step, and in the order they came within one."""
    query = (
        select(metric_point.c.step, metric_point.c.value, metric_point.c.at)
        .join(metric, metric.c.id == metric_point.c.metric_id)
        .where(metric.c.run_id == run_id, metric.c.key == key)
        .order_by(metric_point.c.step, metric_point.c.id)
    )
    return [StoredPoint(row.step, row.value, row.at) for row in tx.execute(query)]


def _stored(value: float) -> float | None:
    return value if math.isfinite(value) else None
