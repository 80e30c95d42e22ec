"""Rows in every table of a database, with values that are hard to copy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    DateTime,
    Float,
    Integer,
    LargeBinary,
    Numeric,
    String,
    Table,
)

from millpond.db.tables import metadata
from millpond.db.tables.base import UtcTime

_MOMENTS = (datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC))
_TEXTS = ("a\tb\n\\\"'ü€😀%s:x", "")
_DOCUMENTS: tuple[Any, ...] = ({"b": [1, 2.5, None, "ü\n"], "a": {"": True}}, [])


def fill_every_table(tx: Connection, *, rows: int = 2) -> Mapping[str, int]:
    """Add rows to each table; how many each of them has then got. What refers to others refers to rows made here."""
    made: dict[str, list[dict[str, Any]]] = {}
    for table in metadata.sorted_tables:
        if table.name == "server":
            continue  # there is one, and everything depends on it
        found = [_row(table, number, made) for number in range(rows)]
        tx.execute(table.insert(), found)
        made[table.name] = found
    return {name: len(found) for name, found in made.items()}


def _row(table: Table, number: int, made: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for column in table.columns:
        referred = next(iter(column.foreign_keys), None)
        if referred is not None:
            row[column.name] = made[referred.column.table.name][number][referred.column.name]
        elif column.nullable and number:
            row[column.name] = None
        else:
            row[column.name] = _value(column, number)
    return row


def _value(column: Column[Any], number: int) -> Any:
    kind = column.type
    if isinstance(kind, Boolean):
        return number == 0
    if isinstance(kind, DateTime | UtcTime):
        return _MOMENTS[number % 2] + timedelta(days=number)
    if isinstance(kind, JSON):
        return _DOCUMENTS[number % 2]
    if isinstance(kind, LargeBinary):
        return bytes([number, 0, 255]) * 5 + bytes(17)
    if isinstance(kind, Integer):
        return 1_000 + number if column.primary_key else (1 << 31) - 1 - number
    if isinstance(kind, Numeric | Float):
        return (0.1, float("inf"))[number % 2]
    assert isinstance(kind, String), column
    written = f"{number}{_TEXTS[number % 2]}{column.name}"
    return written[: kind.length or 200]
