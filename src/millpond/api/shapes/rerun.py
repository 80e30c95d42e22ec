"""Runs made again, as the wire shows them."""

from __future__ import annotations

from millpond.api.shapes import jobs
from millpond.model.job_spec import JobInput
from millpond.model.rerun import RerunAsked
from millpond.services.jobs.jobs import JobView
from millpond.services.runs.rerun import Rerun
from millpond.wire import rerun as wire


def asked(body: wire.RerunAsked) -> RerunAsked:
    """BadName for what is not dataset[@ref]."""
    return RerunAsked(
        params=body.params, on=body.on, name=body.name, experiment=body.experiment,
        data=tuple(JobInput.parse(text) for text in body.data), code_commit=body.code_commit,
        code_is_recorded=body.code_is_recorded, environment=body.environment,
        environment_is_recorded=body.environment_is_recorded,
    )  # fmt: skip


def rerun(value: Rerun, job: JobView | None) -> wire.Rerun:
    plan = value.plan
    return wire.Rerun(
        run=plan.run_id,
        can_start=plan.spec is not None,
        parts=[wire.RerunPart.model_validate(part) for part in plan.parts],
        params=[wire.RerunParam.model_validate(param) for param in plan.params],
        name=plan.name,
        spec=plan.spec,
        git=wire.GitCode.model_validate(plan.git) if plan.git else None,
        packages=list(plan.packages),
        job=jobs.job(job) if job else None,
    )
