"""Steps that the server does itself, because jobs never write refs: registering a model."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from millpond.decide.flows.next_steps import StepStart
from millpond.errors import BadRequest
from millpond.model.flow_run import FlowRun, FlowStep
from millpond.model.people import Project
from millpond.services.deps import Deps
from millpond.services.flows import publishing
from millpond.services.flows.step_jobs import StepMaker


def carry_out(
    deps: Deps, project: Project, run: FlowRun, maker: StepMaker, row: FlowStep, start: StepStart, now: datetime
) -> FlowStep:  # fmt: skip
    """The step as it ended. Whoever the flow runs as needs the right to do it now."""
    step = maker.context.flow.steps[row.step]
    params = maker.params(step, maker.context.component(step), start.params)
    publishing.actor_of(deps, project, run)
    row = replace(row, params=params, started_at=now)
    raise BadRequest(f"This server cannot carry out {step.component!r} ({row.label}).", hint="Update the server.")
