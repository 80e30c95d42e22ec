"""Whole tables as neutral values, the same from SQLite and PostgreSQL: what backups hold and restores write.

Tables are read as they are in the database, not as this version knows them: while two versions share a database, the
older one copies what only the newer one uses, too.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    DateTime,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Table,
    Text,
    cast,
    func,
    select,
    text,
)
from sqlalchemy import table as lightweight
from sqlalchemy.types import TypeEngine

_AT_ONCE = 500
_VERSION = "alembic_version"


class Kind(Enum):
    """What a column holds, in the words of the backup's format (docs/design/034)."""

    TEXT = "text"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    BYTES = "bytes"
    TIME = "time"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class TableColumns:
    """A table's name and what it holds, in the order in which rows are written."""

    name: str
    columns: tuple[tuple[str, Kind], ...]


def tables_of(tx: Connection) -> Sequence[Table]:
    """All tables of the database, those that others refer to first."""
    found = MetaData()
    found.reflect(tx)
    return [table for table in found.sorted_tables if table.name != _VERSION]


def describe(table: Table) -> TableColumns:
    return TableColumns(table.name, tuple((column.name, _kind(column.type)) for column in table.columns))


def rows_of(tx: Connection, table: Table) -> Iterator[list[Any]]:
    """Every row as values that JSON can hold, in the order of the primary key."""
    kinds = [kind for _, kind in describe(table).columns]
    query = select(*(_neutral(tx, column, kind) for column, kind in zip(table.columns, kinds, strict=True)))
    query = query.order_by(*table.primary_key.columns)
    written = [(place, _WRITTEN[kind]) for place, kind in enumerate(kinds) if kind in _WRITTEN]
    for batch in tx.execution_options(yield_per=_AT_ONCE).execute(query).partitions():
        for row in batch:
            values = list(row)
            for place, write in written:
                if values[place] is not None:
                    values[place] = write(values[place])
            yield values


def write_rows(tx: Connection, table: TableColumns, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows as `rows_of` gives them. The table has these columns; others take their defaults."""
    if not rows:
        return
    is_sqlite = tx.dialect.name == "sqlite"
    quote = tx.dialect.identifier_preparer.quote
    names = ", ".join(quote(name) for name, _ in table.columns)
    marks = ", ".join("?" if is_sqlite else _CASTS.get(kind, "%s") for _, kind in table.columns)
    read = [(place, _READ[kind]) for place, (_, kind) in enumerate(table.columns) if kind in _READ]
    values = []
    for row in rows:
        one = list(row)
        for place, convert in read:
            if one[place] is not None:
                one[place] = convert(one[place])
        values.append(tuple(one))
    tx.exec_driver_sql(f"INSERT INTO {quote(table.name)} ({names}) VALUES ({marks})", values)


def count_rows(tx: Connection, name: str) -> int:
    return int(tx.scalar(select(func.count()).select_from(lightweight(name))) or 0)


def next_numbers(tx: Connection, tables: Sequence[Table]) -> Mapping[str, int]:
    """The number that the next row would get, by table, where the database counts: PostgreSQL only.

    SQLite gives the one behind the greatest there is, also after a restore.
    """
    if tx.dialect.name == "sqlite":
        return {}
    found = {}
    for table in tables:
        if (sequence := _sequence(tx, table)) is not None:
            last, is_called = tx.execute(text(f"SELECT last_value, is_called FROM {sequence}")).one()
            found[table.name] = int(last) + int(is_called)
    return found


def continue_numbers(tx: Connection, numbers: Mapping[str, int]) -> None:
    """Let PostgreSQL go on behind the greatest number there is, and not below `numbers`."""
    if tx.dialect.name == "sqlite":
        return
    for table in tables_of(tx):
        if (sequence := _sequence(tx, table)) is not None:
            greatest = tx.scalar(select(func.max(next(iter(table.primary_key.columns)))))
            following = max(int(greatest or 0) + 1, numbers.get(table.name, 1))
            tx.execute(
                text("SELECT setval(CAST(:name AS regclass), :next, false)"), {"name": sequence, "next": following}
            )


def _sequence(tx: Connection, table: Table) -> str | None:
    keys = list(table.primary_key.columns)
    if len(keys) != 1 or not isinstance(keys[0].type, Integer):
        return None
    quoted = tx.dialect.identifier_preparer.quote(table.name)
    asked = {"table": quoted, "column": keys[0].name}
    found = tx.scalar(text("SELECT pg_get_serial_sequence(:table, :column)"), asked)
    return str(found) if found else None


def _kind(type_: TypeEngine[Any]) -> Kind:
    for base, kind in _KINDS:
        if isinstance(type_, base):
            return kind
    return Kind.TEXT


# The first that fits.
_KINDS: Sequence[tuple[type[TypeEngine[Any]], Kind]] = (
    (Boolean, Kind.BOOLEAN),
    (DateTime, Kind.TIME),
    (JSON, Kind.JSON),
    (LargeBinary, Kind.BYTES),
    (Integer, Kind.INTEGER),
    (Numeric, Kind.FLOAT),
    (Float, Kind.FLOAT),
)


def _neutral(tx: Connection, column: Column[Any], kind: Kind) -> ColumnElement[Any]:
    """Documents and times as their text: neither database writes it anew."""
    if kind is Kind.JSON:
        return cast(column, Text)
    if kind is Kind.TIME and tx.dialect.name == "sqlite":
        return cast(column, Text)
    if kind is Kind.TIME:
        return func.to_char(func.timezone("UTC", column), "YYYY-MM-DD HH24:MI:SS.US")
    return column


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


_WRITTEN: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.BYTES: lambda value: b64encode(value).decode(),
    Kind.FLOAT: _finite,
}
_READ: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.BYTES: b64decode,
    Kind.FLOAT: float,
}
# Times are written without their offset, which is none.
_CASTS: Mapping[Kind, str] = {
    Kind.JSON: "CAST(%s AS json)",
    Kind.TIME: "CAST(%s AS timestamp) AT TIME ZONE 'UTC'",
}
