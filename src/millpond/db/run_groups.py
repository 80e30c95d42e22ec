"""Runs counted by what they have in common, and their metrics summed up, by the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Select, func, literal, or_, select

from millpond.db.run_conditions import ATTRIBUTES, METRIC_VALUES, TABLES, holds
from millpond.db.runs import RunFilter
from millpond.db.tables import metric, run
from millpond.model.run_groups import Aggregate
from millpond.model.run_query import Attribute, Condition, Field, FieldKind


def counted(
    tx: Connection, chosen: RunFilter, where: Condition, by: Field | None, *, limit: int, offset: int
) -> Sequence[tuple[str | None, int]]:
    """Values and their number of runs, the most frequent first. Without `by`, all runs are one group."""
    value, source = _value(by)
    query = _narrowed(tx, select(value, func.count()).select_from(source), chosen, where)
    if by is None:
        return [(None, tx.execute(query.with_only_columns(func.count())).scalar_one())]
    query = query.group_by(value).order_by(func.count().desc(), value.is_(None), value)
    return [(row[0], row[1]) for row in tx.execute(query.limit(limit).offset(offset))]


def aggregated(
    tx: Connection, chosen: RunFilter, where: Condition, by: Field | None, values: Collection[str | None], column: Field
) -> Mapping[str | None, Aggregate]:
    """A metric of the runs of these groups; a group of which no run has it is left out."""
    value, source = _value(by)
    # Another name than in conditions, which look at `metric` themselves.
    summed = metric.alias()
    number = summed.c[METRIC_VALUES[column.value].key]
    source = source.join(summed, (summed.c.run_id == run.c.id) & (summed.c.key == column.key))
    sums = (func.count(number), func.avg(number), func.min(number), func.max(number))
    query = _narrowed(tx, select(value, *sums).select_from(source), chosen, where).where(number.is_not(None))
    if by is not None:
        known = [text for text in values if text is not None]
        wanted = value.in_(known) if len(known) == len(values) else or_(value.in_(known), value.is_(None))
        query = query.where(wanted).group_by(value)
    else:
        query = query.with_only_columns(literal(None), *sums)
    return {row[0]: Aggregate(row[1], float(row[2]), row[3], row[4]) for row in tx.execute(query) if row[1]}


def _value(by: Field | None) -> tuple[ColumnElement[Any], FromClause]:
    """What a run is grouped by, and where it is found. Long texts count by their beginning."""
    if by is None:
        return literal(None), run
    if by.kind is FieldKind.ATTRIBUTE:
        return ATTRIBUTES[Attribute(by.key)], run
    table = TABLES[by.kind].alias()
    return table.c.head, run.outerjoin(table, (table.c.run_id == run.c.id) & (table.c.key == by.key))


def _narrowed(tx: Connection, query: Select[Any], chosen: RunFilter, where: Condition) -> Select[Any]:
    return chosen.apply(query).where(holds(tx, where))
