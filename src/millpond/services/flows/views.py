"""Runs as people see them: every step with its job, where it runs, what it read and made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import flow_runs, flows, jobs, sites
from millpond.db.flow_runs import RunFilter
from millpond.decide.flows.context import FlowContext
from millpond.decide.flows.next_steps import next_steps
from millpond.decide.ledger import Ledger, ledger
from millpond.decide.wait_words import shown_reasons
from millpond.model.flow import StepKind
from millpond.model.flow_run import FlowRun, FlowRunState, FlowStep, StepRun, StepState
from millpond.model.job import Job
from millpond.model.people import Project
from millpond.services.deps import Deps
from millpond.services.flows import control, saving
from millpond.services.flows.pins import Pins
from millpond.services.flows.step_files import to_run
from millpond.services.listing import Listing, page_of
from millpond.services.time_cursors import moment_of, written_moment


@dataclass(frozen=True, slots=True)
class StepView:
    """`state` and `reason` are those of the job while it goes on."""

    step: FlowStep
    kind: StepKind
    state: StepState
    reason: str
    job: Job | None = None
    ledger: Ledger | None = None
    site: str | None = None
    component: str | None = None
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class FlowRunView:
    """`text` is the flow as it was saved."""

    run: FlowRun
    steps: Sequence[StepView]
    text: str


def list_runs(
    deps: Deps, project: Project, chosen: RunFilter, *, flow: str | None, limit: int, cursor: str | None
) -> Listing[FlowRun]:  # fmt: skip
    """Newest first, of one flow or of the whole project."""
    with deps.db.read() as tx:
        if flow is not None:
            chosen = RunFilter(saving.find(tx, project, flow).id, chosen.phases, chosen.trigger)
        found = flow_runs.page(tx, project.id, chosen, limit=limit + 1, before=moment_of(cursor))
    return page_of(found, limit, key=lambda run: written_moment(run.created_at, run.id))


def get(deps: Deps, project: Project, text: str) -> FlowRunView:
    """By id or NAME#NUMBER. Steps come in the order of the flow, those not reached yet with why they wait."""
    now = deps.clock.now()
    with deps.db.read() as tx:
        run = control.find(tx, project, text)
        version = flows.version(tx, run.flow_id, run.version)
        context = control.context_of(tx, deps, run)
        rows = flow_runs.steps(tx, run.id)
        known = jobs.by_ids(tx, [row.job_id for row in rows if row.job_id])
        where = _sites(tx, list(known.values()))
    rows = [*rows, *_not_reached(run, rows, context, deps.settings.max_fan_out)]
    order = {name: number for number, name in enumerate(context.flow.steps)}
    pins = Pins.of(run.pins)
    steps = [
        _view(row, context.flow.steps[row.step].kind, known.get(row.job_id or ""), where, now)
        for row in sorted(rows, key=lambda one: (order.get(one.step, len(order)), one.index))
        if row.step in order
    ]
    named = [_with_component(view, context.flow.steps[view.step.step].component, pins) for view in steps]
    return FlowRunView(run, named, version.text if version else "")


def _not_reached(
    run: FlowRun, rows: Sequence[FlowStep], context: FlowContext, max_fan_out: int
) -> list[FlowStep]:  # fmt: skip
    """Steps without a row, with what they wait for."""
    if run.phase.is_finished:
        missing = [name for name in context.flow.steps if name not in {row.step for row in rows}]
        return [FlowStep("", run.id, name, -1, StepState.WAITING) for name in missing]
    steps: dict[str, tuple[StepRun, ...]] = {}
    for row in rows:
        steps[row.step] = (*steps.get(row.step, ()), to_run(row))
    state = FlowRunState(run.id, run.params, steps, run.trigger.commit, run.cancelled_by is not None)
    waits = next_steps(context, state, max_fan_out=max_fan_out).waits
    return [
        FlowStep("", run.id, name, -1, StepState.WAITING, waits.get(name, "Is about to be decided."))
        for name in context.flow.steps
        if name not in steps
    ]


def _view(
    row: FlowStep, kind: StepKind, job: Job | None, where: Mapping[str, str], now: datetime
) -> StepView:  # fmt: skip
    if job is None:
        return StepView(row, kind, row.state, row.reason)
    goes_on = row.ended_at is None
    state = StepState(job.status.state.value) if goes_on else row.state
    reason = "".join(shown_reasons(job)[-1:]) if goes_on else row.reason
    return StepView(row, kind, state, reason, job, ledger(job, now), where.get(job.status.compute or ""))


def _with_component(view: StepView, written: str | None, pins: Pins) -> StepView:
    pinned = pins.components.get(written or "")
    if pinned is not None:
        name = f"{(written or '').partition('@')[0]}@{pinned.version}"
        digest: str | None = pinned.digest
    else:
        name = ""
        code = pins.code.get(view.step.step)
        digest = code.tree if code else None
    return StepView(
        view.step, view.kind, view.state, view.reason, view.job, view.ledger, view.site, name or None, digest
    )


def _sites(tx: Connection, found: Sequence[Job]) -> Mapping[str, str]:
    """The site of each compute that runs one of these jobs."""
    return sites.of_computes(tx, {job.status.compute for job in found if job.status.compute})
