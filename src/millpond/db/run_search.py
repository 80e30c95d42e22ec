"""Lists of runs: which (a condition), in which order, one page at a time (docs/design/016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, select

from millpond.db.run_conditions import ATTRIBUTES, METRIC_VALUES, TABLES, has_value, holds, present
from millpond.db.runs import RunFilter, newest_first, selected, to_run
from millpond.db.tables import run, run_param, run_tag
from millpond.model.run import Run
from millpond.model.run_query import Attribute, Condition, Field, FieldKind, SortKey, Value


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of a sorted list begins: among the runs that have the value, or behind all of those."""

    valued: bool = True
    offset: int = 0


def newest(
    tx: Connection, chosen: RunFilter, where: Condition, *, limit: int, before: tuple[datetime, str] | None
) -> Sequence[Run]:
    """Newest first, behind the run that started at that moment with that id."""
    query = chosen.apply(selected()).where(holds(tx, where))
    return [to_run(row) for row in tx.execute(newest_first(query, before).limit(limit))]


def in_order(
    tx: Connection, chosen: RunFilter, where: Condition, sort: Sequence[SortKey], *, limit: int, at: Place
) -> tuple[Sequence[Run], Place | None]:
    """One page, and where the next begins. Runs without the value that is sorted by come last, newest first."""
    first = sort[0].field
    by_value = first.kind is not FieldKind.ATTRIBUTE
    query = chosen.apply(select(run.c.id)).where(holds(tx, where))
    ids: list[str] = []
    if at.valued:
        found = _by_value(query, chosen, sort) if by_value else query.order_by(*_order(sort), run.c.id)
        ids = list(tx.scalars(found.offset(at.offset).limit(limit + 1)))
        if len(ids) > limit:
            return _runs(tx, ids[:limit]), Place(True, at.offset + limit)
        if not by_value:
            return _runs(tx, ids), None
    begin = 0 if at.valued else at.offset
    rest = newest_first(query.where(~has_value(first)), None)
    more = list(tx.scalars(rest.offset(begin).limit(limit + 1 - len(ids))))
    if len(ids) + len(more) <= limit:
        return _runs(tx, [*ids, *more]), None
    kept = limit - len(ids)
    return _runs(tx, [*ids, *more[:kept]]), Place(False, begin + kept)


def _by_value(query: Select[Any], chosen: RunFilter, sort: Sequence[SortKey]) -> Select[Any]:
    """From the rows of the value, so that their index gives the order; each asks whether its run is wanted."""
    first = sort[0].field
    table = TABLES[first.kind]
    of_run = query.where(run.c.id == table.c.run_id).correlate(table).exists()
    found = select(table.c.run_id).where(table.c.key == first.key, *present(first), of_run)
    if chosen.projects is not None:
        found = found.where(table.c.project_id.in_(chosen.projects))
    down = sort[0].descending
    columns = [column.desc() if down else column.asc() for column in _sorted_by(first)]
    others = [order for key in sort[1:] for order in _others(key, table)]
    return found.order_by(*columns, *others, table.c.run_id.desc() if down else table.c.run_id.asc())


def _sorted_by(field: Field) -> Sequence[ColumnElement[Any]]:
    if field.kind is FieldKind.METRIC:
        return [METRIC_VALUES[field.value]]
    if field.kind is FieldKind.TAG:
        return [run_tag.c.head]
    # Numbers before words.
    return [run_param.c.number.is_(None), run_param.c.number, run_param.c.head]


def _others(key: SortKey, table: Table) -> Sequence[ColumnElement[Any]]:
    value = _scalar(key.field, table.c.run_id)
    return [value.is_(None), value.desc() if key.descending else value.asc()]


def _order(sort: Sequence[SortKey]) -> Sequence[ColumnElement[Any]]:
    """Of attributes first, whatever comes behind them."""
    found: list[ColumnElement[Any]] = []
    for key in sort:
        value = _scalar(key.field, run.c.id)
        found += [value.is_(None), value.desc() if key.descending else value.asc()]
    return found


def _scalar(field: Field, run_id: ColumnElement[str]) -> ColumnElement[Any]:
    if field.kind is FieldKind.ATTRIBUTE:
        value = ATTRIBUTES[Attribute(field.key)]
        # In a query of another table, the run is looked up by its id.
        return value if run_id is run.c.id else select(value).where(run.c.id == run_id).scalar_subquery()
    table = TABLES[field.kind].alias()
    name = {Value.LAST: "last", Value.MIN: "least", Value.MAX: "greatest"}[field.value]
    column = table.c[name] if field.kind is FieldKind.METRIC else table.c.head
    return select(column).where(table.c.run_id == run_id, table.c.key == field.key).scalar_subquery()


def _runs(tx: Connection, ids: Sequence[str]) -> Sequence[Run]:
    """In the order of the ids."""
    found = {row.id: to_run(row) for row in tx.execute(selected().where(run.c.id.in_(ids)))}
    return [found[run_id] for run_id in ids if run_id in found]
