"""Lists of runs: which (a condition), in which order, one page at a time (docs/design/016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    exists,
    false,
    func,
    not_,
    or_,
    select,
    true,
)

from millpond.db.runs import RunFilter, newest_first, selected, to_run
from millpond.db.tables import metric, run, run_param, run_tag
from millpond.model.run import Run
from millpond.model.run_query import (
    Attribute,
    Comparison,
    Condition,
    Field,
    FieldKind,
    Group,
    Operator,
    SortKey,
    Value,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ATTRIBUTES: dict[Attribute, Column[Any]] = {
    Attribute.ID: run.c.id,
    Attribute.NAME: run.c.name,
    Attribute.STATE: run.c.state,
    Attribute.EXPERIMENT: run.c.experiment,
    Attribute.USER: run.c.created_by,
    Attribute.JOB: run.c.job_id,
    Attribute.PARENT: run.c.parent_id,
    Attribute.STARTED_AT: run.c.started_at,
    Attribute.ENDED_AT: run.c.ended_at,
}
_METRIC_VALUES: dict[Value, ColumnElement[Any]] = {
    Value.LAST: metric.c.last,
    Value.MIN: metric.c.least,
    Value.MAX: metric.c.greatest,
}
_TABLES: dict[FieldKind, Table] = {FieldKind.METRIC: metric, FieldKind.PARAM: run_param, FieldKind.TAG: run_tag}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of a sorted list begins: among the runs that have the value, or behind all of those."""

    valued: bool = True
    offset: int = 0


def newest(
    tx: Connection, chosen: RunFilter, where: Condition, *, limit: int, before: tuple[datetime, str] | None
) -> Sequence[Run]:
    """Newest first, behind the run that started at that moment with that id."""
    query = chosen.apply(selected()).where(_holds(where, _is_sqlite(tx)))
    return [to_run(row) for row in tx.execute(newest_first(query, before).limit(limit))]


def in_order(
    tx: Connection, chosen: RunFilter, where: Condition, sort: Sequence[SortKey], *, limit: int, at: Place
) -> tuple[Sequence[Run], Place | None]:
    """One page, and where the next begins. Runs without the value that is sorted by come last, newest first."""
    first = sort[0].field
    by_value = first.kind is not FieldKind.ATTRIBUTE
    query = chosen.apply(select(run.c.id)).where(_holds(where, _is_sqlite(tx)))
    ids: list[str] = []
    if at.valued:
        found = _by_value(query, chosen, sort) if by_value else query.order_by(*_order(sort), run.c.id)
        ids = list(tx.scalars(found.offset(at.offset).limit(limit + 1)))
        if len(ids) > limit:
            return _runs(tx, ids[:limit]), Place(True, at.offset + limit)
        if not by_value:
            return _runs(tx, ids), None
    begin = 0 if at.valued else at.offset
    rest = newest_first(query.where(~_has_value(first)), None)
    more = list(tx.scalars(rest.offset(begin).limit(limit + 1 - len(ids))))
    if len(ids) + len(more) <= limit:
        return _runs(tx, [*ids, *more]), None
    kept = limit - len(ids)
    return _runs(tx, [*ids, *more[:kept]]), Place(False, begin + kept)


def _by_value(query: Select[Any], chosen: RunFilter, sort: Sequence[SortKey]) -> Select[Any]:
    """From the rows of the value, so that their index gives the order; each asks whether its run is wanted."""
    first = sort[0].field
    table = _TABLES[first.kind]
    of_run = query.where(run.c.id == table.c.run_id).correlate(table).exists()
    found = select(table.c.run_id).where(table.c.key == first.key, *_present(first), of_run)
    if chosen.projects is not None:
        found = found.where(table.c.project_id.in_(chosen.projects))
    down = sort[0].descending
    columns = [column.desc() if down else column.asc() for column in _sorted_by(first)]
    others = [order for key in sort[1:] for order in _others(key, table)]
    return found.order_by(*columns, *others, table.c.run_id.desc() if down else table.c.run_id.asc())


def _sorted_by(field: Field) -> Sequence[ColumnElement[Any]]:
    if field.kind is FieldKind.METRIC:
        return [_METRIC_VALUES[field.value]]
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
        column = _ATTRIBUTES[Attribute(field.key)]
        if run_id is run.c.id:
            return column
        inner = run.alias()
        return select(inner.c[column.key]).where(inner.c.id == run_id).scalar_subquery()
    table = _TABLES[field.kind].alias()
    name = {Value.LAST: "last", Value.MIN: "least", Value.MAX: "greatest"}[field.value]
    column = table.c[name] if field.kind is FieldKind.METRIC else table.c.head
    return select(column).where(table.c.run_id == run_id, table.c.key == field.key).scalar_subquery()


def _present(field: Field) -> Sequence[ColumnElement[bool]]:
    return [_METRIC_VALUES[field.value].is_not(None)] if field.kind is FieldKind.METRIC else []


def _has_value(field: Field) -> ColumnElement[bool]:
    table = _TABLES[field.kind]
    return exists().where(table.c.run_id == run.c.id, table.c.key == field.key, *_present(field))


def _holds(condition: Condition, is_sqlite: bool) -> Any:
    if isinstance(condition, Group):
        parts = [_holds(part, is_sqlite) for part in condition.parts]
        return and_(true(), *parts) if condition.word == "and" else or_(false(), *parts)
    field = condition.field
    if field.kind is FieldKind.ATTRIBUTE:
        return _of_attribute(condition, is_sqlite)
    if condition.operator is Operator.IS_NULL:
        return ~_has_value(field)
    if condition.operator is Operator.IS_NOT_NULL:
        return _has_value(field)
    table = _TABLES[field.kind]
    return exists().where(table.c.run_id == run.c.id, table.c.key == field.key, _of_value(condition, is_sqlite))


def _of_attribute(condition: Comparison, is_sqlite: bool) -> Any:
    attribute = Attribute(condition.field.key)
    column = _ATTRIBUTES[attribute]
    if condition.operator is Operator.IS_NULL:
        return column.is_(None)
    if condition.operator is Operator.IS_NOT_NULL:
        return column.is_not(None)
    if attribute.is_time and isinstance(condition.operand, float):
        try:
            return _compare(column, condition.operator, _EPOCH + timedelta(milliseconds=condition.operand), is_sqlite)
        except OverflowError:
            beyond = Operator.LESS if condition.operand > 0 else Operator.GREATER
            towards = (beyond, Operator.AT_MOST if condition.operand > 0 else Operator.AT_LEAST, Operator.UNEQUAL)
            return and_(column.is_not(None), true() if condition.operator in towards else false())
    return _compare(column, condition.operator, condition.operand, is_sqlite)


def _of_value(condition: Comparison, is_sqlite: bool) -> Any:
    field, operand = condition.field, condition.operand
    if field.kind is FieldKind.METRIC:
        return _compare(_METRIC_VALUES[field.value], condition.operator, operand, is_sqlite)
    if field.kind is FieldKind.PARAM and isinstance(operand, float):
        return _compare(run_param.c.number, condition.operator, operand, is_sqlite)
    table = _TABLES[field.kind]
    return _compare(table.c.text, condition.operator, operand, is_sqlite)


def _compare(column: ColumnElement[Any], operator: Operator, operand: Any, is_sqlite: bool) -> Any:
    match operator:
        case Operator.EQUAL:
            return column == operand
        case Operator.UNEQUAL:
            return column != operand
        case Operator.LESS:
            return column < operand
        case Operator.AT_MOST:
            return column <= operand
        case Operator.GREATER:
            return column > operand
        case Operator.AT_LEAST:
            return column >= operand
        case Operator.IN:
            return column.in_(operand)
        case Operator.NOT_IN:
            return not_(column.in_(operand))
        case Operator.ILIKE:
            return func.lower(column).like(func.lower(operand))
    # LIKE of SQLite ignores case; GLOB does not.
    return column.op("GLOB")(_glob(str(operand))) if is_sqlite else column.like(operand)


def _glob(pattern: str) -> str:
    """A LIKE pattern as GLOB writes it: `*`, `?` and `[` stand for themselves in brackets."""
    wild = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    return "".join(wild.get(character, character) for character in pattern)


def _runs(tx: Connection, ids: Sequence[str]) -> Sequence[Run]:
    """In the order of the ids."""
    found = {row.id: to_run(row) for row in tx.execute(selected().where(run.c.id.in_(ids)))}
    return [found[run_id] for run_id in ids if run_id in found]


def _is_sqlite(tx: Connection) -> bool:
    return tx.dialect.name == "sqlite"
