"""Conditions on runs, as the database reads them (docs/design/016)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Table, and_, exists, false, func, not_, or_, true

from millpond.db.seconds import seconds_between
from millpond.db.tables import metric, run, run_param, run_tag
from millpond.model.run_query import Attribute, Comparison, Condition, Field, FieldKind, Group, Operator, Value

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ATTRIBUTES: dict[Attribute, ColumnElement[Any]] = {
    Attribute.ID: run.c.id,
    Attribute.NAME: run.c.name,
    Attribute.STATE: run.c.state,
    Attribute.EXPERIMENT: run.c.experiment,
    Attribute.USER: run.c.created_by,
    Attribute.JOB: run.c.job_id,
    Attribute.PARENT: run.c.parent_id,
    Attribute.STARTED_AT: run.c.started_at,
    Attribute.ENDED_AT: run.c.ended_at,
    Attribute.DURATION: seconds_between(run.c.started_at, run.c.ended_at),
}
METRIC_VALUES: dict[Value, Column[Any]] = {
    Value.LAST: metric.c.last,
    Value.MIN: metric.c.least,
    Value.MAX: metric.c.greatest,
}
TABLES: dict[FieldKind, Table] = {FieldKind.METRIC: metric, FieldKind.PARAM: run_param, FieldKind.TAG: run_tag}


def holds(tx: Connection, condition: Condition) -> Any:
    """For a query of `run`."""
    return _holds(condition, tx.dialect.name == "sqlite")


def present(field: Field) -> Sequence[ColumnElement[bool]]:
    """A metric whose value was never but NaN has none to sort by."""
    return [METRIC_VALUES[field.value].is_not(None)] if field.kind is FieldKind.METRIC else []


def has_value(field: Field) -> ColumnElement[bool]:
    table = TABLES[field.kind]
    return exists().where(table.c.run_id == run.c.id, table.c.key == field.key, *present(field))


def _holds(condition: Condition, is_sqlite: bool) -> Any:
    if isinstance(condition, Group):
        parts = [_holds(part, is_sqlite) for part in condition.parts]
        return and_(true(), *parts) if condition.word == "and" else or_(false(), *parts)
    field = condition.field
    if field.kind is FieldKind.ATTRIBUTE:
        return _of_attribute(condition, is_sqlite)
    if condition.operator is Operator.IS_NULL:
        return ~has_value(field)
    if condition.operator is Operator.IS_NOT_NULL:
        return has_value(field)
    table = TABLES[field.kind]
    return exists().where(table.c.run_id == run.c.id, table.c.key == field.key, _of_value(condition, is_sqlite))


def _of_attribute(condition: Comparison, is_sqlite: bool) -> Any:
    attribute = Attribute(condition.field.key)
    column = ATTRIBUTES[attribute]
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
        return _compare(METRIC_VALUES[field.value], condition.operator, operand, is_sqlite)
    if field.kind is FieldKind.PARAM and isinstance(operand, float):
        return _compare(run_param.c.number, condition.operator, operand, is_sqlite)
    table = TABLES[field.kind]
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
