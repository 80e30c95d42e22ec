"""Many rows by their keys, the same on both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection


def rows_in(
    tx: Connection,
    columns: Sequence[Column[Any]],
    fixed: Mapping[Column[Any], Any],
    key: Column[Any],
    values: Sequence[Any],
) -> Sequence[tuple[Any, ...]]:
    """`columns` of those rows of their table where `fixed` is so and `key` is one of `values` (a batch of them).

    Straight to the driver and from it, which must take and give all values as they are: for tens of thousands of
    keys, writing the statement and wrapping the rows takes SQLAlchemy longer than answering takes the database.
    """
    if not values:
        return ()
    quote = tx.dialect.identifier_preparer.quote
    mark = "?" if tx.dialect.paramstyle == "qmark" else "%s"
    names = ", ".join(quote(column.name) for column in columns)
    conditions = [f"{quote(column.name)} = {mark}" for column in fixed]
    conditions.append(f"{quote(key.name)} IN ({', '.join([mark] * len(values))})")
    statement = f"SELECT {names} FROM {quote(key.table.name)} WHERE {' AND '.join(conditions)}"
    result = tx.exec_driver_sql(statement, (*fixed.values(), *values))
    assert result.cursor is not None
    rows: Sequence[tuple[Any, ...]] = result.cursor.fetchall()
    result.close()
    return rows
