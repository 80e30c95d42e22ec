"""Jobs, runs and computes as the wire shows them."""

from __future__ import annotations

from millpond.model.job import UsageSample
from millpond.services.jobs import JobView
from millpond.services.runs import RunView
from millpond.services.series import Series
from millpond.wire import work as wire


def job(view: JobView) -> wire.Job:
    value = view.job
    return wire.Job(
        id=value.id,
        project=value.project,
        name=value.name,
        number=value.number,
        written=view.written,
        kind=value.kind,
        state=value.state,
        reasons=list(value.reasons),
        command=list(value.command),
        env=dict(value.env),
        cpu=value.resources.cpu,
        memory_bytes=value.resources.memory_bytes,
        gpu_hundredths=value.resources.gpu_hundredths,
        image=value.image,
        code_commit=value.code_commit,
        inputs=[
            wire.JobInput(dataset=f"{i.project}/{i.dataset}", ref=i.ref, commit_id=i.commit_id, env=i.env)
            for i in value.inputs
        ],
        output_commit=value.output_commit,
        run_id=value.run_id,
        created_by=value.created_by,
        compute=value.compute,
        node=value.node,
        queued_at=value.queued_at,
        placed_at=value.placed_at,
        started_at=value.started_at,
        ended_at=value.ended_at,
        deleted_at=value.deleted_at,
        exit_code=value.exit_code,
        signal=value.signal,
        problem=value.problem,
        ledger=wire.Ledger.model_validate(view.ledger),
    )


def run(view: RunView) -> wire.Run:
    value = view.run
    return wire.Run(
        id=value.id,
        project=value.project,
        experiment=value.experiment,
        name=value.name,
        job=value.job_id,
        state=value.state,
        params=dict(value.params),
        tags=dict(value.tags),
        metrics=dict(view.metrics),
        created_by=value.created_by,
        started_at=value.started_at,
        ended_at=value.ended_at,
        deleted_at=value.deleted_at,
    )


def series(value: Series) -> wire.Series:
    return wire.Series(
        key=value.key,
        steps=[point.step for point in value.points],
        values=[point.value for point in value.points],
        times=[point.at for point in value.points],
        total=value.total,
    )


def usage(value: UsageSample) -> wire.Usage:
    return wire.Usage.model_validate(value)
