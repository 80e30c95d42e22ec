"""The seconds between two moments, which each database counts in its own way."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Double
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction


class seconds_between(GenericFunction[float]):
    """`seconds_between(start, end)`; null if one of them is."""

    type = Double()
    inherit_cache = True

    def __init__(self, start: ColumnElement[Any], end: ColumnElement[Any]) -> None:
        super().__init__(start, end)


@compiles(seconds_between, "sqlite")
def _in_sqlite(element: seconds_between, compiler: Any, **kw: Any) -> str:
    start, end = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"((julianday({end}) - julianday({start})) * 86400.0)"


@compiles(seconds_between, "postgresql")
def _in_postgresql(element: seconds_between, compiler: Any, **kw: Any) -> str:
    start, end = (compiler.process(clause, **kw) for clause in element.clauses)
    return f"extract(epoch from ({end} - {start}))::double precision"
