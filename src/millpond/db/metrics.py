"""Metrics of runs: a summary of each key, and its points as batches and chunks (docs/design/016)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Protocol

from sqlalchemy import Connection, bindparam, case, delete, or_, select

from millpond.db.direct import Answer, Direct, DirectTx, pipelined
from millpond.db.metric_columns import decode_batch, decode_chunk, encode_batch, encode_chunk
from millpond.db.tables import metric, metric_batch, metric_chunk
from millpond.decide.point_batch import PointBatch, batch_of
from millpond.decide.series import step_range
from millpond.model.series import Points, Summary

CHUNK_POINTS = 8192

_SUMMARY = (
    metric.c.points, metric.c.last, metric.c.last_step, metric.c.last_at, metric.c.least, metric.c.least_step,
    metric.c.greatest, metric.c.greatest_step,
)  # fmt: skip


def _merging(insert: Any) -> Any:
    """Insert the summary of points, or merge it into that of the points before them: `Summary.merged`, in SQL."""
    statement = insert(metric).values({column.name: bindparam(column.name) for column in _WRITTEN})
    new, old = statement.excluded, metric.c
    is_newer = new.last_step >= old.last_step
    is_less = or_(old.least.is_(None), new.least < old.least)
    is_greater = or_(old.greatest.is_(None), new.greatest > old.greatest)
    chosen = {"last": is_newer, "last_step": is_newer, "last_at": is_newer, "least": is_less, "least_step": is_less,
              "greatest": is_greater, "greatest_step": is_greater}  # fmt: skip
    merged = {name: case((condition, new[name]), else_=old[name]) for name, condition in chosen.items()}
    changes = {"points": old.points + new.points, **merged}
    return statement.on_conflict_do_update(index_elements=["run_id", "key"], set_=changes).returning(metric.c.id)


_WRITTEN = (metric.c.run_id, metric.c.project_id, metric.c.key, *_SUMMARY)
_MERGE = Direct(_merging)
_INSERT_BATCH = Direct(lambda insert: insert(metric_batch).values(run_id=bindparam("run_id"), data=bindparam("data")))


class HasProject(Protocol):
    """A run, or what is known of it."""

    @property
    def id(self) -> str: ...
    @property
    def project_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of a run, without its points."""

    id: int
    run_id: str
    key: str
    points: int


def add(tx: Connection, run: HasProject, points: Mapping[str, Points]) -> None:
    """One batch. Only while the run is locked, and none of the points may be empty."""
    if points:
        batch = batch_of(points)
        with pipelined(tx):
            merged = merge_summaries(tx, run, batch)
        insert_batch(tx, run, merged, batch)


def merge_summaries(tx: Connection | DirectTx, run: HasProject, batch: PointBatch) -> Sequence[Answer]:
    """Bring a batch into the summaries of its metrics; the id of each is the answer."""
    rows = (
        {"run_id": run.id, "project_id": run.project_id, "key": key, **_values(summary)}
        for key, summary in batch.summaries.items()
    )
    return [_MERGE.ask(tx, row) for row in rows]


def insert_batch(tx: Connection | DirectTx, run: HasProject, merged: Sequence[Answer], batch: PointBatch) -> None:
    """Store the points of a batch whose summaries were merged just before."""
    data = encode_batch([row[0] for answer in merged if (row := answer())], batch)
    _INSERT_BATCH.run(tx, {"run_id": run.id, "data": data})


def fold(tx: Connection, run_id: str) -> None:
    """Turn the batches of a run into chunks. Only while the run is locked."""
    batches = tx.execute(_batches([run_id])).all()
    gathered: dict[int, list[Points]] = defaultdict(list)
    for row in batches:
        for metric_id, points in decode_batch(row.data):
            gathered[metric_id].append(points)
    tails = _tails(tx, gathered)
    rows = [row for metric_id, parts in gathered.items() for row in _chunks(metric_id, parts, tails.get(metric_id, ()))]
    merged = [chunk.id for chunks in tails.values() for chunk in chunks]
    for begin in range(0, len(merged), 1000):
        tx.execute(delete(metric_chunk).where(metric_chunk.c.id.in_(merged[begin : begin + 1000])))
    if rows:
        tx.execute(metric_chunk.insert(), rows)
    if batches:
        tx.execute(delete(metric_batch).where(metric_batch.c.run_id == run_id, metric_batch.c.id <= batches[-1].id))


def summaries(
    tx: Connection, run_ids: Collection[str], keys: Collection[str] | None = None
) -> Mapping[str, Mapping[str, Summary]]:
    """By run and key: of all keys, or of these."""
    found: dict[str, dict[str, Summary]] = {run_id: {} for run_id in run_ids}
    query = select(metric.c.run_id, metric.c.key, *_SUMMARY).where(metric.c.run_id.in_(list(run_ids)))
    if keys is not None:
        query = query.where(metric.c.key.in_(list(keys)))
    for row in tx.execute(query.order_by(metric.c.run_id, metric.c.key)):
        found[row.run_id][row.key] = _summary(row)
    return found


def of_runs(tx: Connection, run_ids: Collection[str], keys: Collection[str] | None = None) -> Sequence[Metric]:
    """Which metrics runs have, by run and key."""
    query = select(metric.c.id, metric.c.run_id, metric.c.key, metric.c.points)
    query = query.where(metric.c.run_id.in_(list(run_ids)))
    if keys is not None:
        query = query.where(metric.c.key.in_(list(keys)))
    return [Metric(*row) for row in tx.execute(query.order_by(metric.c.run_id, metric.c.key))]


def unfolded(tx: Connection, run_ids: Collection[str], wanted: Collection[int]) -> Mapping[int, Sequence[Points]]:
    """Points of these metrics that are still in batches, in the order they came."""
    found: dict[int, list[Points]] = defaultdict(list)
    for row in tx.execute(_batches(run_ids)):
        for metric_id, points in decode_batch(row.data):
            if metric_id in wanted:
                found[metric_id].append(points)
    return found


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored chunk; `decode` reads its points."""

    points: int
    least_step: int
    greatest_step: int
    is_sorted: bool
    data: bytes

    def decode(self) -> Points:
        return decode_chunk(self.data, self.points)


def chunks(
    tx: Connection, metric_ids: Sequence[int], *, start: int | None, end: int | None
) -> Iterator[tuple[int, Sequence[Chunk]]]:
    """By metric, in the order they were written: chunks that may hold steps from `start` to `end`."""
    query = select(metric_chunk).where(metric_chunk.c.metric_id.in_(metric_ids))
    if start is not None:
        query = query.where(metric_chunk.c.greatest_step >= start)
    if end is not None:
        query = query.where(metric_chunk.c.least_step <= end)
    rows = tx.execute(query.order_by(metric_chunk.c.metric_id, metric_chunk.c.id))
    for metric_id, group in groupby(rows, key=lambda row: row.metric_id):
        yield (
            metric_id,
            [Chunk(row.points, row.least_step, row.greatest_step, row.is_sorted, row.data) for row in group],
        )


def are_in_order(found: Sequence[Chunk]) -> bool:
    """True if the points of these chunks, one after the other, are sorted by step."""
    return all(chunk.is_sorted for chunk in found) and all(
        before.greatest_step <= after.least_step for before, after in pairwise(found)
    )


def _batches(run_ids: Collection[str]) -> Any:
    query = select(metric_batch.c.id, metric_batch.c.data).where(metric_batch.c.run_id.in_(list(run_ids)))
    return query.order_by(metric_batch.c.id)


def _tails(tx: Connection, gathered: Mapping[int, Sequence[Points]]) -> Mapping[int, Sequence[Any]]:
    """By metric, the last chunks that are no longer than what comes behind them: those are written anew with it.

    So a point is rewritten only when its chunk doubles.
    """
    found: dict[int, list[Any]] = {}
    wanted = sorted(gathered)
    for begin in range(0, len(wanted), 500):
        sizes = select(metric_chunk.c.id, metric_chunk.c.metric_id, metric_chunk.c.points)
        sizes = sizes.where(metric_chunk.c.metric_id.in_(wanted[begin : begin + 500]))
        rows = tx.execute(sizes.order_by(metric_chunk.c.metric_id, metric_chunk.c.id.desc())).all()
        ids = [row.id for _, group in groupby(rows, key=lambda row: row.metric_id) for row in _merged(group, gathered)]
        whole = select(metric_chunk).where(metric_chunk.c.id.in_(ids)).order_by(metric_chunk.c.id)
        for row in tx.execute(whole):
            found.setdefault(row.metric_id, []).append(row)
    return found


def _merged(newest_first: Iterator[Any], gathered: Mapping[int, Sequence[Points]]) -> Iterator[Any]:
    behind: int | None = None
    for row in newest_first:
        behind = sum(map(len, gathered[row.metric_id])) if behind is None else behind
        if row.points > behind or row.points >= CHUNK_POINTS:
            return
        behind += row.points
        yield row


def _chunks(metric_id: int, parts: Sequence[Points], tail: Sequence[Any]) -> Iterator[dict[str, Any]]:
    whole = Points.joined([*(decode_chunk(row.data, row.points) for row in tail), *parts])
    for begin in range(0, len(whole), CHUNK_POINTS):
        points = whole.cut(begin, begin + CHUNK_POINTS)
        least, greatest, is_sorted = step_range(points)
        yield {
            "metric_id": metric_id,
            "points": len(points),
            "least_step": least,
            "greatest_step": greatest,
            "is_sorted": is_sorted,
            "data": encode_chunk(points),
        }


def _values(summary: Summary) -> dict[str, Any]:
    return {
        "points": summary.points,
        "last": None if math.isnan(summary.last) else summary.last,
        "last_step": summary.last_step,
        "last_at": summary.last_at,
        "least": summary.least,
        "least_step": summary.least_step,
        "greatest": summary.greatest,
        "greatest_step": summary.greatest_step,
    }


def _summary(row: Any) -> Summary:
    return Summary(
        points=row.points,
        last=math.nan if row.last is None else row.last,
        last_step=row.last_step,
        last_at=row.last_at,
        least=row.least,
        least_step=row.least_step,
        greatest=row.greatest,
        greatest_step=row.greatest_step,
    )
