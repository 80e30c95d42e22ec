"""The keys that runs have, counted by the database."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, Table, func, select

from millpond.db.tables import metric, run_param, run_tag
from millpond.model.run_keys import RunKey

_MOST_VALUES = 20


def param_keys(tx: Connection, run_ids: Collection[str]) -> Sequence[RunKey]:
    return _counted(tx, run_param, run_ids)


def metric_keys(tx: Connection, run_ids: Collection[str]) -> Sequence[RunKey]:
    query = select(metric.c.key, func.count().label("runs")).where(metric.c.run_id.in_(list(run_ids)))
    return [RunKey(row.key, row.runs) for row in tx.execute(query.group_by(metric.c.key).order_by(metric.c.key))]


def tag_keys(tx: Connection, run_ids: Collection[str]) -> Sequence[RunKey]:
    """With a few of their values, the most frequent first."""
    keys = _counted(tx, run_tag, run_ids)
    values: dict[str, list[str]] = {}
    query = select(run_tag.c.key, run_tag.c.head).where(run_tag.c.run_id.in_(list(run_ids)))
    query = query.group_by(run_tag.c.key, run_tag.c.head).order_by(func.count().desc(), run_tag.c.head)
    for row in tx.execute(query):
        known = values.setdefault(row.key, [])
        if len(known) < _MOST_VALUES:
            known.append(row.head)
    return [RunKey(one.key, one.runs, one.differs, values[one.key]) for one in keys]


def _counted(tx: Connection, table: Table, run_ids: Collection[str]) -> Sequence[RunKey]:
    runs, values = func.count().label("runs"), func.count(table.c.head.distinct()).label("values")
    query = select(table.c.key, runs, values).where(table.c.run_id.in_(list(run_ids)))
    rows = tx.execute(query.group_by(table.c.key).order_by(table.c.key))
    return [RunKey(row.key, row.runs, row[2] > 1) for row in rows]
