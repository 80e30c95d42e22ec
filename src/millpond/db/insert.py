"""Inserts that leave rows alone which are there already: the same statement on both databases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_missing(tx: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the rows whose key is not taken yet."""
    if not rows:
        return
    insert = sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert
    tx.execute(insert(table).on_conflict_do_nothing(), [dict(row) for row in rows])
