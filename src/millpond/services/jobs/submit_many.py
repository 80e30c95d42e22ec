"""Submits many jobs at once, for the steps of flows: what they have in common is checked once, rows go in together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from millpond import tracing
from millpond.db import experiments, jobs, run_values, runs
from millpond.decide.entitlement import limited
from millpond.decide.templates import TemplateChoice
from millpond.model.ids import new_job_id
from millpond.model.job import Job, JobStatus
from millpond.model.job_spec import JobSpec
from millpond.model.people import Actor, Project
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes, job_data
from millpond.services.jobs.snapshot import commits_of
from millpond.services.jobs.submit import check_quota, check_spec, choices_of, first_choice, new_run, resolved


@dataclass(frozen=True, slots=True)
class NamedSpec:
    name: str
    spec: JobSpec


@dataclass(frozen=True, slots=True)
class CheckedJob:
    """A job that may be submitted, with the template it is planned with first."""

    name: str
    choice: TemplateChoice


def check(deps: Deps, actor: Actor, project: Project, wanted: Sequence[NamedSpec]) -> list[CheckedJob]:
    """What `insert` takes; raises what submitting one of them would raise."""
    found: list[CheckedJob] = []
    known: dict[tuple[str, str], TemplateChoice] = {}
    with deps.db.read() as tx:
        for one in wanted:
            check_spec(one.spec)
            # Executions of one step with the same inputs differ in nothing that is looked up.
            alike = (one.spec.class_key, one.spec.step.name if one.spec.step else one.name)
            if alike not in known:
                known[alike] = _choice(deps, tx, actor, project, one.spec)
            found.append(CheckedJob(one.name, _like(known[alike], one.spec)))
    return found


def insert(
    tx: Connection, actor: Actor, project: Project, checked: Sequence[CheckedJob], now: datetime
) -> list[Job]:  # fmt: skip
    """Queue them, in the caller's transaction. IntegrityError if a job of such a name has not ended."""
    made = [_job(actor, project, one, now) for one in checked]
    newest = jobs.newest_numbers(tx, made)
    made = [replace(job, number=newest.get((job.project_id, job.name), 0) + 1) for job in made]
    records = [new_run(job) for job in made]
    runs.insert(tx, *records)
    for name in {run.experiment for run in records}:
        experiments.ensure(tx, project.id, name, now)
    run_values.add_tags(tx, [(run, job.spec.tags) for run, job in zip(records, made, strict=True)])
    jobs.insert(tx, *made)
    job_changes.note_submitted(tx, *made)
    return made


def announce(deps: Deps, made: Sequence[Job], now: datetime) -> None:
    """Call after the transaction: their data is fetched, and the scheduler and pages are told."""
    by_data: Mapping[tuple[str, ...], Job] = {tuple(commits_of(job)): job for job in reversed(made)}
    for job in by_data.values():
        job_data.prefetch(deps, job, now)
    job_changes.announce(deps, made)


def _choice(deps: Deps, tx: Connection, actor: Actor, project: Project, asked: JobSpec) -> TemplateChoice:
    spec = limited(resolved(tx, actor, project, asked), project.shares)
    choice = first_choice(tx, spec.compute, choices_of(tx, spec), deps.clock.now())
    check_quota(tx, project, choice.spec)
    return choice


def _like(choice: TemplateChoice, spec: JobSpec) -> TemplateChoice:
    """The same choice for another execution of the step."""
    return replace(choice, spec=replace(choice.spec, command=spec.command, step=spec.step, tags=spec.tags))


def _job(actor: Actor, project: Project, one: CheckedJob, now: datetime) -> Job:
    return Job(
        id=new_job_id(),
        project_id=project.id,
        project=project.name,
        name=one.name,
        number=1,
        run_id=new_job_id(),
        created_by=actor.name,
        queued_at=now,
        spec=one.choice.spec,
        status=JobStatus(reasons=(f"Submitted by {actor.name}.",), template=one.choice.use),
        trace=tracing.traceparent() if tracing.is_on() else None,
    )
