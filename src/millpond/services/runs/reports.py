"""What clients report of their runs: points, parameters, tags, how it ended. A report that comes twice counts once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import commits, experiments, jobs, lineage, metrics, run_values, runs
from millpond.decide.lineage import edges_of_inputs
from millpond.errors import Invalid
from millpond.model.job import Job
from millpond.model.people import Actor, Project
from millpond.model.run import Run, RunReport, RunState
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes
from millpond.services.people import access
from millpond.services.runs.run_checks import check_key, check_name, check_tags, checked_params
from millpond.services.runs.runs import find, publish

# So many batches of points are read one by one; the next folds them into chunks (docs/design/016).
MOST_UNFOLDED = 256


def take_report(deps: Deps, actor: Actor, project: Project, run_id: str, report: RunReport) -> None:
    """Add what a client reports; durable when it returns. One that was taken before changes nothing."""
    now = deps.clock.now()
    report = _checked(report)
    with deps.db.write() as tx:
        job_id = find(tx, actor, project, run_id).job_id
        # The job before its run, in the order in which they end.
        job = jobs.lock(tx, job_id) if job_id is not None and report.progress is not None else None
        run = runs.lock(tx, run_id)
        if run is None or not _is_new(tx, run_id, report):
            return
        after = _reported(run, report, now)
        _apply(tx, run, report, now)
        _note_inputs(tx, actor, run, report)
        after = _folded(tx, after, report)
        runs.save(tx, after)
        moved = _note_progress(tx, job, report.progress)
    publish(deps, after, "batch")
    if after.state is not run.state:
        deps.events.wake("artifacts")
    if moved is not None:
        job_changes.publish(deps, moved)


def _checked(report: RunReport) -> RunReport:
    check_name(report.name, "name")
    check_name(report.experiment, "experiment")
    check_tags(report.tags)
    for key, points in report.points.items():
        check_key(key, "metrics")
        if not len(points.steps) == len(points.values) == len(points.times):
            raise Invalid(f"Metric {key!r} has columns of different lengths.", fields=["series"])
    filled = {key: points for key, points in report.points.items() if len(points)}
    return replace(report, params=checked_params(report.params), points=filled)


def _is_new(tx: Connection, run_id: str, report: RunReport) -> bool:
    return report.writer is None or runs.take_sequence(tx, run_id, report.writer, report.sequence)


def _apply(tx: Connection, run: Run, report: RunReport, now: datetime) -> None:
    if report.fixed_params:
        _check_fixed(tx, run, report.params)
    metrics.add(tx, run, report.points)
    run_values.set_params(tx, run, report.params, now)
    run_values.set_tags(tx, run, report.tags)
    if report.experiment is not None:
        experiments.ensure(tx, run.project_id, report.experiment, now)
    if report.origin or report.inputs or report.outputs:
        known = runs.record(tx, run.id)
        inputs = {(one.get("name"), one.get("digest")): one for one in (*known.inputs, *report.inputs)}
        outputs = {one["model_id"]: one for one in (*known.outputs, *report.outputs)}
        after = replace(
            known,
            origin={**known.origin, **report.origin},
            inputs=tuple(inputs.values()),
            outputs=tuple(outputs.values()),
        )
        runs.save_record(tx, run.id, after)


def _note_inputs(tx: Connection, actor: Actor, run: Run, report: RunReport) -> None:
    """Commits that a script says it has read, as edges of lineage. What a job reads is known from its spec."""
    named = edges_of_inputs(run.id, report.inputs) if run.job_id is None else []
    sources = {edge.source for edge in named if edge.source} - lineage.read_by_run(tx, run.id) if named else set()
    if sources:
        readable = commits.readable(tx, sources, among=access.visible_projects(actor))
        lineage.add(tx, [edge for edge in named if edge.source in readable])


def _check_fixed(tx: Connection, run: Run, params: Mapping[str, Any]) -> None:
    known = run_values.params(tx, [run.id], list(params))[run.id]
    for key, value in params.items():
        if key in known and run_values.param_text(known[key]) != run_values.param_text(value):
            raise Invalid(
                f"Cannot change parameter {key!r} of run {run.id}: it is {str(known[key])[:200]!r}.", fields=["params"]
            )


def _reported(run: Run, report: RunReport, now: datetime) -> Run:
    """The run after a report. A job's run ends with its job."""
    run = replace(
        run,
        name=report.name or run.name,
        experiment=report.experiment or run.experiment,
        seen_at=max(now, run.seen_at),
        unfolded=run.unfolded + bool(report.points),
    )
    if run.job_id is not None:
        return run
    if report.ended is not None and report.ended is not RunState.RUNNING:
        return replace(run, state=report.ended, ended_at=min(report.ended_at or now, now))
    return replace(run, state=RunState.RUNNING, ended_at=None) if run.state is RunState.LOST else run


def _folded(tx: Connection, run: Run, report: RunReport) -> Run:
    ends = report.ended is not None and run.state.is_finished
    if run.unfolded < MOST_UNFOLDED and not (ends and run.unfolded):
        return run
    metrics.fold(tx, run.id)
    return replace(run, unfolded=0)


def _note_progress(tx: Connection, job: Job | None, progress: float | None) -> Job | None:
    """The run's job, which this transaction has locked, if its progress changed."""
    if job is None or job.status.state.is_finished or job.status.progress == progress:
        return None
    after = job.changed(progress=progress)
    jobs.save(tx, after)
    return after
