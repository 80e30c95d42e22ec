"""Notes how the jobs of steps ended: outputs, memos, and which runs must decide what comes next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import flow_memos, flow_runs, jobs
from millpond.db.flow_runs import JobEnd
from millpond.model.flow_run import FlowRun, FlowStep, StepState
from millpond.model.job import Job, JobState
from millpond.services.deps import Deps
from millpond.services.flows.step_files import outputs_of_job

_STATES = {
    JobState.SUCCEEDED: StepState.SUCCEEDED,
    JobState.FAILED: StepState.FAILED,
    JobState.CANCELLED: StepState.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Settled:
    """Steps of a run that ended just now."""

    run: FlowRun
    steps: Sequence[FlowStep]


def settle(deps: Deps, ended: Collection[JobEnd], now: datetime) -> list[Settled]:
    """One transaction for each run. A run is due if a step has ended as a whole, one failed, or some wait for room."""
    by_run: dict[str, list[JobEnd]] = defaultdict(list)
    for one in ended:
        by_run[one.run_id].append(one)
    found: list[Settled] = []
    for run_id, ends in by_run.items():
        with deps.db.write() as tx:
            settled = _settle_run(tx, run_id, ends, now)
        found += [settled] if settled else []
    return found


def _settle_run(tx: Connection, run_id: str, ends: Sequence[JobEnd], now: datetime) -> Settled | None:
    run = flow_runs.lock(tx, run_id)
    if run is None or run.phase.is_finished:
        return None
    known = jobs.by_ids(tx, [one.job_id for one in ends])
    rows = {row.id: row for row in flow_runs.steps_by_ids(tx, [one.step_id for one in ends])}
    changed = [
        _ended(rows[one.step_id], known.get(one.job_id), now)
        for one in ends
        # Another server may have been faster, or the run was retried meanwhile.
        if one.step_id in rows and rows[one.step_id].job_id == one.job_id and rows[one.step_id].ended_at is None
    ]
    if not changed:
        return None
    flow_runs.save_steps(tx, changed)
    _note_memos(tx, run, changed)
    flow_runs.save(tx, replace(run, due=run.due or _is_due(tx, run, changed)))
    return Settled(run, changed)


def _ended(row: FlowStep, job: Job | None, now: datetime) -> FlowStep:
    if job is None:
        return replace(row, state=StepState.FAILED, reason="Its job was removed.", ended_at=now)
    state = _STATES[job.status.state]
    reason = job.status.problem or (job.status.reasons[-1] if job.status.reasons else "")
    ended_at = job.status.ended_at or now
    started_at = job.status.started_at or row.started_at
    if state is StepState.SUCCEEDED:
        outputs = outputs_of_job(job)
        return replace(row, state=state, reason="", outputs=outputs, started_at=started_at, ended_at=ended_at)
    return replace(row, state=state, reason=reason, started_at=started_at, ended_at=ended_at)


def _note_memos(tx: Connection, run: FlowRun, changed: Sequence[FlowStep]) -> None:
    """Complete or give up what these steps had claimed; runs that wait for it decide anew."""
    keys = [row.memo_key for row in changed if row.memo_key]
    for row in changed:
        if row.memo_key and row.state is StepState.SUCCEEDED:
            flow_memos.complete(tx, run.project_id, row.memo_key, row.id, row.outputs)
    flow_memos.release(tx, [row.id for row in changed if row.state is not StepState.SUCCEEDED])
    flow_runs.make_due(tx, flow_memos.waiting_runs(tx, keys) - {run.id})


def _is_due(tx: Connection, run: FlowRun, changed: Sequence[FlowStep]) -> bool:
    if any(row.state is not StepState.SUCCEEDED for row in changed):
        return True
    left: Mapping[str, int] = flow_runs.unfinished(tx, run.id)
    return flow_runs.READY in left or any(row.step not in left for row in changed)
