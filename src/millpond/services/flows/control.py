"""What people do to a run: cancel it, retry it, approve or reject what waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection

from millpond.db import flow_memos, flow_runs, flows
from millpond.decide.flows import graph
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.fields import nearest
from millpond.decide.flows.reader import read_flow
from millpond.errors import BadRequest, Conflict, NotFound
from millpond.model.flow import StepKind
from millpond.model.flow_run import FlowRun, FlowRunPhase, FlowStep, StepState
from millpond.model.people import Actor, Project, Role
from millpond.services.deps import Deps
from millpond.services.flows import starting
from millpond.services.flows.starting import NOT_PART
from millpond.services.people import access, audit


def cancel(deps: Deps, actor: Actor, project: Project, text: str) -> FlowRun:
    """End every step of the run. No effect if it has ended or is being cancelled."""
    with deps.db.write() as tx:
        run = _lock(tx, project, text)
        if run.phase.is_finished or run.cancelled_by is not None:
            return run
        run = replace(run, cancelled_by=actor.name, due=True)
        flow_runs.save(tx, run)
        _audit(tx, deps, actor, run, "flow.cancel")
    return _changed(deps, run, "cancelled")


def retry(deps: Deps, actor: Actor, project: Project, text: str, from_step: str | None = None) -> FlowRun:
    """Go on with a run that has ended: steps that did not succeed run again, or all from one step on.

    Conflict if the run goes on, or if there is nothing to do again.
    """
    with deps.db.write() as tx:
        run = _lock(tx, project, text)
        if not run.phase.is_finished:
            raise Conflict(f"Run {run.written} has not ended.", hint=f"Cancel it first: mill flow cancel {run.written}")
        rows = flow_runs.steps(tx, run.id)
        again, gone = _reset(context_of(tx, deps, run), rows, from_step)
        if not again and not gone:
            hint = f"Name a step to begin at: mill flow retry {run.written} --from STEP"
            raise Conflict(f"Every step of {run.written} has succeeded.", hint=hint)
        flow_runs.delete_steps(tx, [row.id for row in gone])
        flow_runs.save_steps(tx, again)
        keys = [row.memo_key for row in rows if row.memo_key]
        flow_memos.release(tx, [row.id for row in (*again, *gone)])
        flow_runs.make_due(tx, flow_memos.waiting_runs(tx, keys))
        options = replace(run.options, from_step=from_step) if from_step else run.options
        # A flow whose other runs go on waits for them, as at its first start.
        run = replace(
            run, phase=FlowRunPhase.QUEUED, reason="", ended_at=None, cancelled_by=None, published={}, due=True,
            options=options,
        )  # fmt: skip
        flow_runs.save(tx, run)
        _audit(tx, deps, actor, run, "flow.retry", from_step or "")
    return _changed(deps, run, "retried")


def approve(deps: Deps, actor: Actor, project: Project, text: str, step: str, comment: str = "") -> FlowRun:
    """Let the run go on behind this gate. Forbidden without the role that the flow asks for."""
    return _answer(deps, actor, project, text, step, StepState.SUCCEEDED, _said("Approved", actor, comment))


def reject(deps: Deps, actor: Actor, project: Project, text: str, step: str, comment: str = "") -> FlowRun:
    """The gate has failed, and so has the run."""
    return _answer(deps, actor, project, text, step, StepState.FAILED, _said("Rejected", actor, comment))


def find(tx: Connection, project: Project, text: str) -> FlowRun:
    """By id, or as NAME#NUMBER; NAME alone is the newest run of the flow."""
    run = flow_runs.get(tx, text)
    if run is not None and run.project_id == project.id:
        return run
    name, _, number = text.partition("#")
    saved = flows.find(tx, project.id, name)
    found = None
    if saved is not None and (not number or number.isdecimal()):
        found = flow_runs.find_numbered(tx, saved.id, int(number) if number else None)
    if found is None:
        raise access.not_found("flow run", text, [f"{one}#1" for one in flows.names(tx, project.id)])
    return found


def context_of(tx: Connection, deps: Deps, run: FlowRun) -> FlowContext:
    """The flow of a run as it was saved, without its components."""
    version = flows.version(tx, run.flow_id, run.version)
    flow, document, _ = read_flow(version.text if version else "")
    if flow is None:
        raise NotFound(f"Version {run.version} of flow {run.flow!r} no longer exists.", noun="flow")
    return FlowContext(flow, document, {}, deps.settings.max_fan_out)


def _reset(
    context: FlowContext, rows: Sequence[FlowStep], from_step: str | None
) -> tuple[list[FlowStep], list[FlowStep]]:
    """Rows that are ready once more, and rows that go because their steps are decided anew."""
    if from_step is not None and from_step not in context.flow.steps:
        raise BadRequest(f"The flow has no step {from_step!r}.", hint=nearest(from_step, context.flow.steps))
    anew = graph.from_here(context.needs, from_step) if from_step else set()
    again: list[FlowStep] = []
    gone: list[FlowStep] = []
    datasets = {name for name, step in context.flow.steps.items() if step.kind is StepKind.DATASET}
    for row in rows:
        if row.step in datasets:
            continue  # pinned when the run started
        if row.step in anew or (row.state is StepState.SKIPPED and row.reason != NOT_PART):
            gone.append(row)
        elif row.state in (StepState.FAILED, StepState.CANCELLED):
            # One of many keeps its place in the list; a step that failed by itself is decided anew.
            target = again if row.index >= 0 else gone
            target.append(replace(row, state=StepState.READY, reason="", job_id=None, started_at=None, ended_at=None))
    return again, gone


def _answer(
    deps: Deps, actor: Actor, project: Project, text: str, step: str, state: StepState, reason: str
) -> FlowRun:  # fmt: skip
    now = deps.clock.now()
    with deps.db.write() as tx:
        run = _lock(tx, project, text)
        asked = context_of(tx, deps, run).flow.steps.get(step)
        if asked is None or asked.approval is None:
            raise access.not_found("approval", step)
        access.require(actor, project, Role(asked.approval.role))
        row = next((one for one in flow_runs.steps(tx, run.id) if one.step == step), None)
        if row is None or row.state is not StepState.WAITING:
            what = f"is {row.state.value}" if row else "has not been reached"
            raise Conflict(f"Step {step!r} of {run.written} does not wait for an approval: it {what}.")
        flow_runs.save_steps(tx, [replace(row, state=state, reason=reason, ended_at=now, expires_at=None)])
        run = replace(run, due=True)
        flow_runs.save(tx, run)
        _audit(tx, deps, actor, run, f"flow.{'approve' if state is StepState.SUCCEEDED else 'reject'}", step)
    return _changed(deps, run, "steps")


def _said(verb: str, actor: Actor, comment: str) -> str:
    return f"{verb} by {actor.name}: {comment[:500]}" if comment else f"{verb} by {actor.name}."


def _lock(tx: Connection, project: Project, text: str) -> FlowRun:
    run = flow_runs.lock(tx, find(tx, project, text).id)
    if run is None:
        raise access.not_found("flow run", text)
    return run


def _changed(deps: Deps, run: FlowRun, what: str) -> FlowRun:
    starting.announce(deps, run, what)
    deps.events.wake(starting.TOPIC)
    return run


def _audit(tx: Connection, deps: Deps, actor: Actor, run: FlowRun, action: str, step: str = "") -> None:
    details = {"run": run.id, **({"step": step} if step else {})}
    audit.record(tx, now=deps.clock.now(), actor=actor, action=action, subject=f"{run.project}/{run.written}",
                 project_id=run.project_id, details=details)  # fmt: skip
