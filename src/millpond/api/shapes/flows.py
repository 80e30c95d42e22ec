"""Flows, runs and components as the wire shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.decide.flows.document import read_document
from millpond.model.component import Component
from millpond.model.documents import to_document
from millpond.model.flow import Param, Port
from millpond.model.flow_run import FlowRun, RunTrigger
from millpond.model.saved_flow import FlowVersion
from millpond.services.flows.saving import FlowView
from millpond.services.flows.step_files import FILES
from millpond.services.flows.views import FlowRunView, StepView
from millpond.wire import flows as wire
from millpond.wire.jobs import Ledger


def flow(view: FlowView) -> wire.Flow:
    saved, version = view.flow, view.version
    return wire.Flow(
        id=saved.id,
        project=saved.project,
        name=saved.name,
        description=saved.description,
        version=version.number,
        newest=saved.newest,
        digest=version.digest,
        commit=version.commit_id,
        saved_by=version.saved_by,
        saved_at=version.saved_at,
        created_by=saved.created_by,
        created_at=saved.created_at,
        steps=version.steps,
        newest_run=run_summary(view.newest_run) if view.newest_run else None,
    )


def whole_flow(view: FlowView, files: list[str]) -> wire.Flow:
    """With its text, and what that says."""
    document, _ = read_document(view.version.text)
    told = {"text": view.version.text, "document": document.value, "files": files}
    return flow(view).model_copy(update=told)


def version(value: FlowVersion) -> wire.FlowVersion:
    return wire.FlowVersion(
        version=value.number,
        digest=value.digest,
        commit=value.commit_id,
        steps=value.steps,
        saved_by=value.saved_by,
        saved_at=value.saved_at,
    )


def run_summary(run: FlowRun) -> wire.FlowRunSummary:
    return wire.FlowRunSummary(**_summary(run))


def run(view: FlowRunView) -> wire.FlowRun:
    found = view.run
    return wire.FlowRun(
        **_summary(found),
        project=found.project,
        options=to_document(found.options),
        published=dict(found.published),
        cancelled_by=found.cancelled_by,
        steps=[_step(one) for one in view.steps],
        text=view.text,
    )


def component(one: Component, origin: str, readme: str | None = None) -> wire.LibraryComponent:
    return wire.LibraryComponent(
        name=one.name,
        version=one.version_text,
        title=one.title,
        category=one.category,
        description=one.description,
        origin=origin,
        checkpoint=one.checkpoint,
        remember=one.remember,
        params=[_param(param) for param in one.params.values()],
        inputs=[_port(port) for port in one.inputs.values()],
        outputs=[_port(port) for port in one.outputs.values()],
        readme=readme,
    )


def _summary(run: FlowRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "flow": run.flow,
        "number": run.number,
        "written": run.written,
        "version": run.version,
        "state": run.phase.value,
        "reason": run.reason,
        "trigger": _trigger(run.trigger),
        "params": dict(run.params),
        "created_by": run.created_by,
        "run_as": run.run_as,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    }


def _trigger(trigger: RunTrigger) -> wire.FlowTrigger:
    return wire.FlowTrigger(
        type=trigger.type,
        by=trigger.by,
        commit=trigger.commit,
        scheduled_at=trigger.scheduled_at,
        id=trigger.trigger_id,
        backfill=trigger.backfill_id,
    )


def _step(view: StepView) -> wire.FlowStep:
    row, job = view.step, view.job
    started_at = job.status.started_at if job is not None and row.ended_at is None else row.started_at
    return wire.FlowStep(
        name=row.step,
        index=None if row.index < 0 else row.index,
        kind=view.kind.value,
        state=view.state.value,
        reason=view.reason,
        each=dict(row.each),
        params=dict(row.params),
        inputs=_files(row.inputs),
        outputs=_files(row.outputs),
        job=row.job_id,
        run=job.run_id if job else None,
        component=view.component,
        digest=view.digest,
        template=job.status.template.name if job and job.status.template else None,
        site=view.site,
        compute=job.status.compute if job else None,
        node=job.status.node if job else None,
        remembered_from=row.remembered_from,
        ledger=Ledger.model_validate(view.ledger) if view.ledger else None,
        attempts=row.attempts,
        progress=job.status.progress if job else None,
        ready_at=row.ready_at,
        started_at=started_at,
        ended_at=row.ended_at,
        expires_at=row.expires_at,
    )


def _files(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _written(value) for name, value in values.items()}


def _written(value: Any) -> Any:
    if isinstance(value, dict) and value.keys() == {FILES, "type"}:
        return value[FILES]
    return [_written(one) for one in value] if isinstance(value, list) else value


def _param(param: Param) -> wire.ComponentParam:
    return wire.ComponentParam(
        name=param.name,
        type=param.type,
        default=param.default,
        required=param.is_required,
        min=param.min,
        max=param.max,
        exclusive_min=param.exclusive_min,
        choices=list(param.choices),
        help=param.help,
        scale=param.scale,
    )


def _port(port: Port) -> wire.ComponentPort:
    return wire.ComponentPort(name=port.name, type=port.type, required=port.required, help=port.help)
