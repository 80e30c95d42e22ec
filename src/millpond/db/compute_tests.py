"""Tests of computes: asked for, and what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from millpond.db.tables import compute_test
from millpond.model.compute import ComputeTest

# Made once: it is asked with every exchange of an agent.
_OPEN = (
    select(compute_test.c.id)
    .where(
        compute_test.c.compute_id == bindparam("compute"),
        compute_test.c.ended_at.is_(None),
        compute_test.c.created_at >= bindparam("since"),
    )
    .order_by(compute_test.c.created_at, compute_test.c.id)
)


def insert(tx: Connection, value: ComputeTest) -> None:
    tx.execute(
        compute_test.insert().values(
            id=value.id, compute_id=value.compute_id, created_by=value.created_by, created_at=value.created_at
        )
    )


def get(tx: Connection, compute_id: str, test_id: str) -> ComputeTest | None:
    """The test of this id, if it is one of this compute."""
    key = (compute_test.c.id == test_id) & (compute_test.c.compute_id == compute_id)
    row = tx.execute(select(compute_test).where(key)).first()
    return _test(row) if row else None


def open_of_compute(tx: Connection, compute_id: str, since: datetime) -> Sequence[str]:
    """Ids of the tests that were asked for since then and have not been answered, oldest first."""
    return tx.scalars(_OPEN, {"compute": compute_id, "since": since}).all()


def end(tx: Connection, test_id: str, checks: Sequence[Mapping[str, Any]], now: datetime) -> None:
    values = {"ended_at": now, "checks": [dict(check) for check in checks]}
    tx.execute(compute_test.update().where(compute_test.c.id == test_id).values(**values))


def ids_before(tx: Connection, before: datetime) -> Sequence[str]:
    return tx.scalars(select(compute_test.c.id).where(compute_test.c.created_at < before)).all()


def delete(tx: Connection, test_ids: Sequence[str]) -> None:
    tx.execute(compute_test.delete().where(compute_test.c.id.in_(test_ids)))


def _test(row: Row[Any]) -> ComputeTest:
    return ComputeTest(row.id, row.compute_id, row.created_by, row.created_at, row.ended_at, row.checks)
