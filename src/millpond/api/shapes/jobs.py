"""Jobs as the wire shows them."""

from __future__ import annotations

from dataclasses import asdict, fields

from millpond.decide.job_life import WAITING
from millpond.decide.wait_words import shown_reasons
from millpond.model.job import Job, JobStatus
from millpond.model.job_spec import Dependency
from millpond.model.run import UsageSample
from millpond.services.jobs.jobs import AttemptView, JobView
from millpond.wire import jobs

# Fields of a status that the wire has under the same name.
_STATUS = {field.name for field in fields(JobStatus)} & jobs.Job.model_fields.keys()


def job(view: JobView) -> jobs.Job:
    value = view.job
    status = {name: getattr(value.status, name) for name in _STATUS}
    return jobs.Job(
        **status
        | {
            "id": value.id,
            "project": value.project,
            "name": value.name,
            "number": value.number,
            "written": view.written,
            "spec": value.spec,
            "run_id": value.run_id,
            "created_by": value.created_by,
            "queued_at": value.queued_at,
            "submitted_at": value.queued_at,
            "gpus": value.spec.gpus / 100,
            "gpu_ids": list(view.gpu_ids),
            "reasons": list(shown := shown_reasons(value)),
            "reason": shown[-1].removeprefix(WAITING) if shown else None,
            "ledger": jobs.Ledger.model_validate(view.ledger),
            "after": [_after(dependency, view.others.get(dependency.job)) for dependency in value.spec.after],
            "wanted_compute": value.spec.compute,
            "environment_source": value.spec.environment,
            "template": value.status.template.name if value.status.template else None,
            "filled": value.status.template.fields if value.status.template else {},
        }
    )


def _after(dependency: Dependency, other: Job | None) -> jobs.After:
    return jobs.After(
        job=dependency.job,
        name=other.name if other else dependency.job,
        when="any" if dependency.when == "any" else "success",
        state=other.status.state if other else None,
    )


def attempt(view: AttemptView) -> jobs.Attempt:
    value = view.placement
    return jobs.Attempt(
        id=value.id,
        number=value.number,
        compute=view.compute,
        node=value.node,
        state=value.state.value,
        created_at=value.created_at,
        started_at=value.started_at,
        exited_at=value.exited_at,
        ended_at=value.ended_at,
        exit_code=value.exit_code,
        signal=value.signal,
        ending=value.ending,
        problem=value.problem,
        ranks=[jobs.Rank.model_validate(asdict(one) | {"state": one.state.value}) for one in value.ranks],
    )


def usage(value: UsageSample) -> jobs.Usage:
    return jobs.Usage.model_validate(value)
