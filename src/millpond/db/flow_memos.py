"""What steps have made before, by memo key; a row without outputs is being made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from millpond.db.batches import batches
from millpond.db.tables import commit, flow_memo, flow_step


@dataclass(frozen=True, slots=True)
class Memo:
    """`made_by` is the step that makes or made it, as people write it: NAME#RUN/STEP[INDEX]."""

    project_id: str
    key: str
    step_id: str
    made_by: str
    outputs: Mapping[str, Any] | None
    made_at: datetime


def find(tx: Connection, project_id: str, keys: Collection[str]) -> Mapping[str, Memo]:
    found: dict[str, Memo] = {}
    for batch in batches(list(keys), 500):
        query = select(flow_memo).where(flow_memo.c.project_id == project_id, flow_memo.c.key.in_(batch))
        found |= {row.key: Memo(**row._mapping) for row in tx.execute(query)}
    return found


def put(tx: Connection, memo: Memo) -> None:
    """Insert it, or replace the one of that key."""
    where = (flow_memo.c.project_id == memo.project_id, flow_memo.c.key == memo.key)
    changed = tx.execute(flow_memo.update().where(*where).values(**asdict(memo)))
    if not changed.rowcount:
        tx.execute(flow_memo.insert().values(**asdict(memo)))


def complete(tx: Connection, project_id: str, key: str, step_id: str, outputs: Mapping[str, Any]) -> None:
    """Only for the step that claimed it."""
    where = (flow_memo.c.project_id == project_id, flow_memo.c.key == key, flow_memo.c.step_id == step_id)
    tx.execute(flow_memo.update().where(*where).values(outputs=dict(outputs)))


def release(tx: Connection, step_ids: Collection[str]) -> None:
    """Remove claims of steps that did not succeed."""
    for batch in batches(list(step_ids), 500):
        tx.execute(flow_memo.delete().where(flow_memo.c.step_id.in_(batch), flow_memo.c.outputs.is_(None)))


def living_claims(tx: Connection, step_ids: Collection[str]) -> set[str]:
    """Those of these steps that exist and have not ended."""
    found: set[str] = set()
    for batch in batches(list(step_ids), 500):
        query = select(flow_step.c.id).where(flow_step.c.id.in_(batch), flow_step.c.ended_at.is_(None))
        found |= set(tx.scalars(query))
    return found


def waiting_runs(tx: Connection, keys: Collection[str]) -> set[str]:
    """Runs with steps that wait for one of these keys to be made by another."""
    found: set[str] = set()
    for batch in batches(list(keys), 500):
        where = (flow_step.c.memo_key.in_(batch), flow_step.c.ended_at.is_(None), flow_step.c.job_id.is_(None))
        found |= set(tx.scalars(select(flow_step.c.run_id).where(*where)))
    return found


def missing_commits(tx: Connection, commit_ids: Collection[str]) -> set[str]:
    """Those of these commits that are no longer there."""
    there: set[str] = set()
    for batch in batches(list(commit_ids), 500):
        there |= set(tx.scalars(select(commit.c.id).where(commit.c.id.in_(batch))))
    return set(commit_ids) - there
