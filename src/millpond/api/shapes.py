"""Jobs, runs and computes as the wire shows them."""

from __future__ import annotations

from dataclasses import asdict

from millpond.model.job import Dependency, Job
from millpond.model.run import UsageSample
from millpond.services.jobs.jobs import AttemptView, JobView
from millpond.services.runs.runs import RunView
from millpond.services.runs.series import Series
from millpond.wire import jobs, runs


def job(view: JobView) -> jobs.Job:
    value = view.job
    return jobs.Job(
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
        processes=value.processes,
        cpu=value.resources.cpu,
        memory_bytes=value.resources.memory_bytes,
        gpu_hundredths=value.resources.gpu_hundredths,
        gpu_enforced=value.resources.gpu_enforced,
        gpu_share=value.gpu_share,
        image=value.image,
        code_commit=value.code_commit,
        inputs=[
            jobs.JobInput(dataset=f"{i.project}/{i.dataset}", ref=i.ref, commit_id=i.commit_id, env=i.env)
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
        ending=value.ending,
        failed_rank=value.failed_rank,
        problem=value.problem,
        ledger=jobs.Ledger.model_validate(view.ledger),
        wanted_compute=value.wanted_compute,
        priority=value.priority,
        timeout_seconds=value.timeout_seconds,
        retries=value.retries,
        retry_on=list(value.retry_on),
        backoff_seconds=value.backoff_seconds,
        attempt=value.attempt,
        retried=value.retried,
        losses=value.losses,
        not_before=value.not_before,
        after=[_after(dependency, view.others.get(dependency.job_id)) for dependency in value.after],
        progress=value.progress,
        environment_source=value.environment_source,
        environment_job=value.environment_job,
        environment_commit=value.environment_commit,
        ports=list(value.ports),
        idle_seconds=value.idle_seconds,
        secrets=dict(value.secrets),
        options=dict(value.options),
    )


def _after(dependency: Dependency, other: Job | None) -> jobs.After:
    return jobs.After(
        job=dependency.job_id,
        name=other.name if other else dependency.job_id,
        when="any" if dependency.when == "any" else "success",
        state=other.state if other else None,
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


def run(view: RunView) -> runs.Run:
    value = view.run
    return runs.Run(
        id=value.id,
        project=value.project,
        experiment=value.experiment,
        name=value.name,
        job=value.job_id,
        state=value.state,
        job_state=value.job_state,
        params=dict(value.params),
        tags=dict(value.tags),
        metrics=dict(view.metrics),
        created_by=value.created_by,
        started_at=value.started_at,
        ended_at=value.ended_at,
        deleted_at=value.deleted_at,
    )


def series(value: Series) -> runs.Series:
    return runs.Series(
        key=value.key,
        steps=[point.step for point in value.points],
        values=[point.value for point in value.points],
        times=[point.at for point in value.points],
        total=value.total,
    )


def usage(value: UsageSample) -> jobs.Usage:
    return jobs.Usage.model_validate(value)
