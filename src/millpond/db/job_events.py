"""Every change of a job's state: when, from what to what, under which rule, by whom, where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from millpond.db.tables import job_event
from millpond.model.job import JobState, StateChange

_INSERT = job_event.insert()


def insert(tx: Connection, *values: StateChange) -> None:
    if values:
        tx.execute(_INSERT, [_row(value) for value in values])


def _row(value: StateChange) -> dict[str, Any]:
    return {
        "job_id": value.job_id,
        "at": value.at,
        "from_state": value.before.value if value.before else None,
        "to_state": value.after.value,
        "rule": value.rule,
        "by": value.by,
        "node": value.node,
        "attempt": value.attempt,
    }


def of_job(tx: Connection, job_id: str) -> Sequence[StateChange]:
    """Oldest first."""
    rows = tx.execute(select(job_event).where(job_event.c.job_id == job_id).order_by(job_event.c.id))
    return [
        StateChange(
            row.job_id,
            row.at,
            JobState(row.from_state) if row.from_state else None,
            JobState(row.to_state),
            row.rule,
            row.by,
            row.node,
            row.attempt,
        )
        for row in rows
    ]
