"""Points of metrics: whatever the order of batches and folds, every point comes back, and summaries agree with them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from millpond.db import metrics, projects, runs
from millpond.db.engine import Database
from millpond.db.metric_columns import decode_batch, decode_chunk, encode_batch, encode_chunk
from millpond.db.tables import metric_batch, metric_chunk
from millpond.decide.point_batch import batch_of, packed_batch
from millpond.model.people import Project
from millpond.model.point_bytes import pack
from millpond.model.series import Points, Summary
from millpond.testing.builders_work import a_run
from millpond.testing.clock import NOON

RUN = a_run()
_points = st.lists(
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=50
).map(lambda rows: Points.of(*zip(*rows, strict=True)))


@pytest.fixture(autouse=True)
def run(db: Database) -> None:
    with db.write() as tx:
        projects.insert(tx, Project("project1", "default", "", NOON))
        runs.insert(tx, RUN)


def line(begin: int, end: int) -> Points:
    steps = range(begin, end)
    return Points.of(steps, map(float, steps), steps)


def stored(db: Database, key: str = "loss") -> Points:
    with db.read() as tx:
        (one,) = metrics.of_runs(tx, [RUN.id], [key])
        chunks = dict(metrics.chunks(tx, [one.id], start=None, end=None)).get(one.id, ())
        loose = metrics.unfolded(tx, [RUN.id], {one.id}).get(one.id, ())
    found = Points.joined([*(chunk.decode() for chunk in chunks), *loose])
    assert len(found) == one.points
    return found


def count(db: Database, table: object) -> int:
    with db.read() as tx:
        return tx.scalar(select(func.count()).select_from(table)) or 0  # type: ignore[arg-type]


@given(_points)
@settings(max_examples=50, deadline=None)
def test_columns_come_back_bit_by_bit(points: Points) -> None:
    batch = encode_batch([7], batch_of({"loss": points}))
    packed = encode_batch([7], packed_batch({"loss": len(points)}, pack(points)))
    chunk = decode_chunk(encode_chunk(points), len(points))
    for found in (chunk, dict(decode_batch(batch))[7], dict(decode_batch(packed))[7]):
        assert found.values.tobytes() == points.values.tobytes()
        assert (found.steps, found.times) == (points.steps, points.times)


@given(st.lists(_points, min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_points_that_come_packed_have_the_same_summaries(parts: list[Points]) -> None:
    points = {f"m{place}": part for place, part in enumerate(parts)}
    found = packed_batch({key: len(part) for key, part in points.items()}, pack(Points.joined(parts)))
    expected = {key: Summary.of(part) for key, part in points.items()}
    assert repr(found.summaries) == repr(batch_of(points).summaries) == repr(expected)


@given(st.lists(_points, min_size=1, max_size=6))
@settings(max_examples=50, deadline=None)
def test_a_merged_summary_is_that_of_all_points(parts: list[Points]) -> None:
    merged = Summary.of(parts[0])
    for part in parts[1:]:
        merged = merged.merged(Summary.of(part))
    assert repr(merged) == repr(Summary.of(Points.joined(parts)))


def test_batches_of_many_metrics_are_one_row_each(db: Database) -> None:
    with db.write() as tx:
        metrics.add(tx, RUN, {f"m{n}": line(n, n + 3) for n in range(1000)})
        metrics.add(tx, RUN, {f"m{n}": line(n + 3, n + 5) for n in range(1000)})
    assert count(db, metric_batch) == 2
    assert stored(db, "m7") == line(7, 12)


def test_folding_keeps_every_point_in_its_order(db: Database) -> None:
    expected = Points()
    begin = 0
    for size in (1, 1, 300, 2, 9000, 5, 900, 8192, 1, 1):
        with db.write() as tx:
            metrics.add(tx, RUN, {"loss": line(begin, begin + size)})
            metrics.fold(tx, RUN.id)
        begin += size
        expected = line(0, begin)
        assert stored(db) == expected
    assert count(db, metric_batch) == 0
    assert count(db, metric_chunk) < 8
    with db.read() as tx:
        found = dict(metrics.chunks(tx, [metrics.of_runs(tx, [RUN.id])[0].id], start=None, end=None))
        assert all(metrics.are_in_order(chunks) for chunks in found.values())


def test_chunks_are_chosen_by_step(db: Database) -> None:
    with db.write() as tx:
        metrics.add(tx, RUN, {"loss": line(0, 30_000)})
        metrics.fold(tx, RUN.id)
    with db.read() as tx:
        (one,) = metrics.of_runs(tx, [RUN.id])
        ((_, found),) = metrics.chunks(tx, [one.id], start=9000, end=9010)
    assert [(chunk.least_step, chunk.greatest_step) for chunk in found] == [(8192, 16383)]


def test_summaries_follow(db: Database) -> None:
    with db.write() as tx:
        metrics.add(tx, RUN, {"loss": Points.of([5, 4], [0.2, 0.3], [50, 40]), "inf": Points.of([0], [math.inf], [0])})
        metrics.add(tx, RUN, {"loss": Points.of([1], [0.9], [10]), "nan": Points.of([0], [math.nan], [0])})
    with db.read() as tx:
        found = metrics.summaries(tx, [RUN.id, "nobody"])
    assert found["nobody"] == {}
    assert found[RUN.id]["loss"] == Summary(3, 0.2, 5, 50, 0.2, 5, 0.9, 1)
    assert found[RUN.id]["inf"].last == math.inf == found[RUN.id]["inf"].greatest
    assert math.isnan(found[RUN.id]["nan"].last)
    assert found[RUN.id]["nan"].least is None
    with db.write() as tx:
        metrics.add(tx, RUN, {"nan": Points.of([1], [2.0], [0])})
    with db.read() as tx:
        assert metrics.summaries(tx, [RUN.id], ["nan"])[RUN.id]["nan"].least == 2.0
