"""Inserts of many rows, the same on both databases: those that are not there yet, or simply all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_missing(tx: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose key is not taken yet."""
    if not rows:
        return
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    tx.execute(insert(table).on_conflict_do_nothing(), [dict(row) for row in rows])


def insert_rows(tx: Connection, columns: Sequence[Column[Any]], rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows whose values the drivers take as they are, in the order of `columns`, all of one table.

    Straight to the driver: for tens of thousands of rows a dictionary each costs as much as the database does.
    """
    if not rows:
        return
    quote = tx.dialect.identifier_preparer.quote
    names = ", ".join(quote(column.name) for column in columns)
    marks = ", ".join(["?" if tx.dialect.paramstyle == "qmark" else "%s"] * len(columns))
    tx.exec_driver_sql(f"INSERT INTO {quote(columns[0].table.name)} ({names}) VALUES ({marks})", rows)
