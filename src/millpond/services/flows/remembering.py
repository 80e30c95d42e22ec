"""Steps whose work was done before: taken from there, waited for, or claimed and executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import flow_memos
from millpond.db.flow_memos import Memo
from millpond.model.flow_run import FlowRun, FlowStep, StepState
from millpond.services.flows.step_files import commits_in
from millpond.services.flows.step_jobs import StepMaker, StepWork


@dataclass(slots=True)
class Looked:
    """Ids of steps to execute; those that end at once; those that wait for a step that does the same."""

    execute: set[str] = field(default_factory=set)
    remembered: list[FlowStep] = field(default_factory=list)
    waiting: list[FlowStep] = field(default_factory=list)


def look(
    tx: Connection, run: FlowRun, maker: StepMaker, works: Sequence[tuple[FlowStep, StepWork]], now: datetime
) -> Looked:  # fmt: skip
    """Decide for each step. Keys are claimed in this transaction, so of two runs at once one executes."""
    keys = sorted({work.memo_key for _, work in works if work.memo_key})
    memos = dict(flow_memos.find(tx, run.project_id, keys))
    living = flow_memos.living_claims(tx, {memo.step_id for memo in memos.values() if memo.outputs is None})
    gone = _gone(tx, memos)
    found = Looked()
    for row, work in works:
        memo = memos.get(work.memo_key or "")
        forced = maker.is_forced(maker.context.flow.steps[row.step])
        if work.memo_key is None:
            found.execute.add(row.id)
        elif memo is not None and memo.outputs is not None and memo.key not in gone and not forced:
            found.remembered.append(_remembered(row, work, memo, now))
        elif memo is not None and memo.outputs is None and memo.step_id in living and memo.step_id != row.id:
            reason = f"Waits for {memo.made_by}, which does the same."
            found.waiting.append(replace(row, memo_key=work.memo_key, reason=reason, attempts=row.attempts - 1))
        else:
            claim = Memo(run.project_id, work.memo_key, row.id, f"{run.written}/{row.label}", None, now)
            flow_memos.put(tx, claim)
            memos[claim.key] = claim
            living.add(row.id)
            found.execute.add(row.id)
    return found


def _gone(tx: Connection, memos: Mapping[str, Memo]) -> set[str]:
    """Keys whose outputs lie in commits that are no longer there."""
    needed = {key: set(commits_in(memo.outputs)) for key, memo in memos.items() if memo.outputs}
    missing = flow_memos.missing_commits(tx, {one for commits in needed.values() for one in commits})
    return {key for key, commits in needed.items() if commits & missing}


def _remembered(row: FlowStep, work: StepWork, memo: Memo, now: datetime) -> FlowStep:
    return replace(
        row, state=StepState.REMEMBERED, params=work.params, outputs=memo.outputs or {}, remembered_from=memo.made_by,
        reason=f"Remembered from {memo.made_by}.", memo_key=work.memo_key, attempts=row.attempts - 1, started_at=now,
        ended_at=now,
    )  # fmt: skip
