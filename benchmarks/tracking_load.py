"""Up to 100,000 runs with a metric and a parameter each, and a hundred with long curves, straight into a database."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from sqlalchemy import select

from millpond.db import metrics, runs
from millpond.db.engine import Database
from millpond.db.tables import metric, project, run, run_param
from millpond.model.series import Points
from millpond.testing.builders_work import a_run
from millpond.testing.clock import NOON

LISTED = 100_000
POINTS = 10_000
RUNS = [f"curve{number:04}" for number in range(100)]
_AT_ONCE = 10_000


def fill(db: Database, *, count: int = LISTED, curves: int = len(RUNS)) -> None:
    dice = random.Random(1)
    with db.read() as tx:
        project_id: str = tx.scalar(select(project.c.id).where(project.c.name == "default")) or ""
    for begin in range(0, count, _AT_ONCE):
        with db.write() as tx:
            _add_listed(tx, project_id, range(begin, min(begin + _AT_ONCE, count)), dice)
    for run_id in RUNS[:curves]:
        with db.write() as tx:
            made = a_run(id=run_id, project_id=project_id)
            runs.insert(tx, made)
            values = [dice.random() for _ in range(POINTS)]
            metrics.add(tx, made, {"curve": Points.of(range(POINTS), values, range(POINTS))})
            metrics.fold(tx, run_id)


def _add_listed(tx: Any, project_id: str, numbers: range, dice: random.Random) -> None:
    started = NOON.replace(year=2020)
    tx.execute(run.insert(), [
        {"id": f"bench{n:08}", "project_id": project_id, "experiment": f"e{n % 10}", "name": f"run {n}",
         "state": "succeeded", "created_by": "bench", "started_at": started + timedelta(seconds=n),
         "ended_at": started + timedelta(seconds=n + 60), "seen_at": started}
        for n in numbers
    ])  # fmt: skip
    tx.execute(metric.insert(), [
        {"run_id": f"bench{n:08}", "project_id": project_id, "key": "acc", "points": 1, "last": value,
         "last_step": 0, "last_at": 0, "least": value, "least_step": 0, "greatest": value, "greatest_step": 0}
        for n in numbers if (value := dice.random()) >= 0
    ])  # fmt: skip
    tx.execute(run_param.insert(), [
        {"run_id": f"bench{n:08}", "project_id": project_id, "key": "lr", "text": str(n % 100), "json": str(n % 100),
         "number": n % 100, "head": str(n % 100)}
        for n in numbers
    ])  # fmt: skip
