"""Submits a job: checks everything it names and resolves refs to commits before it is queued."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond import tracing
from millpond.db import (
    computes,
    experiments,
    jobs,
    nodes,
    placements,
    projects,
    queues,
    request_keys,
    run_values,
    runs,
    templates,
)
from millpond.decide.capability import refusal
from millpond.decide.computes import QueuedJob
from millpond.decide.entitlement import beyond_quota, limited
from millpond.decide.job_names import made_name
from millpond.decide.readiness import ANY_END, SUCCESS
from millpond.decide.retry import checked_kinds
from millpond.decide.templates import TemplateChoice, choices, entries_of
from millpond.errors import BadRequest, DoesNotFit, Invalid, NameTaken, NotFound
from millpond.model.ids import new_job_id
from millpond.model.job import Job, JobStatus
from millpond.model.job_spec import Dependency, JobInput, JobKind, JobSpec, Launcher
from millpond.model.names import ARTIFACT_DATASET, CODE_DATASET, DEFAULT_BRANCH, check_name, environment_name
from millpond.model.people import Actor, Project
from millpond.model.run import DEFAULT_EXPERIMENT, Run, RunState
from millpond.model.template import QueueEntry
from millpond.services.clusters import cluster_use
from millpond.services.commits import refs
from millpond.services.computes import elastic
from millpond.services.computes.templates import check_named
from millpond.services.datasets import datasets, reading
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes, job_data, snapshot
from millpond.services.jobs.jobs import find
from millpond.services.jobs.options import check_gpus, check_options, check_params, check_selector, check_variables
from millpond.services.people import access, audit, secrets
from millpond.services.places import mounts
from millpond.services.runs.run_checks import checked_params
from millpond.services.workspaces import in_jobs
from millpond.wire.jobs import JobCreate

# What people may ask for.
_ASKED_FOR = (JobKind.TRAINING, JobKind.INTERACTIVE)
_TRIES = 5
_SOME_NODES = 8
# What an input may be called where its dataset's name does not tell it from another one.
_OWN_VARIABLE = re.compile(r"MILL_INPUT_[A-Z0-9_]{1,50}")

Also: TypeAlias = Callable[[Connection, Job, Run], None]


def submit(deps: Deps, actor: Actor, project: Project, request: JobCreate) -> Job:
    """Queue a job, start to fetch its data, and wake the scheduler."""
    if request.spec.kind not in _ASKED_FOR:
        kinds = " or ".join(kind.value for kind in _ASKED_FOR)
        raise Invalid(
            f"Jobs of kind {request.spec.kind.value!r} are created by the server only.", hint=f"Choose {kinds}."
        )
    if request.spec.step is not None:
        raise Invalid("Steps of flows are created by the server only.", hint="Run a flow: mill flow run FILE")
    if request.spec.service is not None:
        raise Invalid("Services are created by the server only.", hint="Create an endpoint: mill endpoint create")
    return enqueue(deps, actor, project, request.spec, name=request.name)


def enqueue(
    deps: Deps, actor: Actor, project: Project, spec: JobSpec, *, name: str | None = None,
    params: Mapping[str, Any] | None = None, also: Also | None = None,
) -> Job:  # fmt: skip
    """Like `submit`, for jobs of any kind. `params` are recorded in its run, beside those of the spec.

    `also` writes more in the transaction that inserts job and run.
    """
    if name is not None:
        check_name(name, "job")
    choice, _ = check(deps, actor, project, spec)
    now = deps.clock.now()
    job = _insert(deps, actor, project, name, choice, now, params or {}, also)
    job_data.prefetch(deps, job, now)
    job_changes.announce(deps, [job])
    return job


def check(deps: Deps, actor: Actor, project: Project, spec: JobSpec) -> tuple[TemplateChoice, Sequence[TemplateChoice]]:
    """The first way to run it that some node could ever take, and all ways; raises what submitting it would raise."""
    check_spec(spec)
    _gather_artifacts(deps, actor, project, spec.inputs)
    with deps.db.read() as tx:
        found = choices_of(tx, limited(resolved(tx, actor, project, spec), project.shares))
        choice = first_choice(tx, spec.compute, found, deps.clock.now())
        check_quota(tx, project, choice.spec)
        return choice, found


def fixed(deps: Deps, actor: Actor, project: Project, spec: JobSpec) -> JobSpec:
    """The spec with its inputs and jobs resolved, for several jobs that are to read the same commits."""
    check_spec(spec)
    _gather_artifacts(deps, actor, project, spec.inputs)
    with deps.db.read() as tx:
        return resolved(tx, actor, project, spec)


def check_spec(spec: JobSpec) -> None:
    if not spec.command[0]:
        raise Invalid("The command is empty.", fields=["command"])
    texts = [*spec.command, *spec.env, *spec.env.values(), *spec.tags, *spec.tags.values()]
    if any("\0" in text for text in texts):
        raise Invalid("Command, environment and tags must not contain a zero byte.", fields=["command", "env", "tags"])
    check_variables(spec.env, spec.secrets)
    check_params(spec.params)
    check_gpus(spec.gpu_hundredths)
    check_options(spec.options)
    check_selector(spec.node_selector)
    if spec.snapshots is not None and not spec.workspaces:
        raise Invalid(
            "Snapshots are taken of workspaces, and the job has none.", hint="Add --workspace W:/path.",
            fields=["snapshots"],
        )  # fmt: skip
    if spec.launcher is Launcher.MPI and not spec.processes:
        raise Invalid("An MPI job needs a number of processes.", hint="Add --processes N.", fields=["processes"])
    if (spec.ports or spec.idle_seconds) and spec.kind is not JobKind.INTERACTIVE:
        raise Invalid(
            "Only interactive jobs can have ports and an idle time.", hint="Add --interactive.",
            fields=["ports", "idle_seconds"],
        )  # fmt: skip


def resolved(tx: Connection, actor: Actor, project: Project, spec: JobSpec) -> JobSpec:
    """The spec with its names resolved: inputs to commits, jobs to ids."""
    _check_code(tx, project, spec.code_commit)
    _check_code(tx, project, spec.environment)
    secrets.check_of_job(tx, project, spec.secrets)
    spec = in_jobs.resolved(tx, actor, project, spec)
    return replace(
        spec,
        site_id=_site_of_cluster(tx, project, spec.cluster) or spec.site_id,
        inputs=_inputs(tx, actor, project, spec),
        mounts=mounts.resolved(tx, project, spec.mounts),
        after=_after(tx, project, spec.after),
        retry_on=checked_kinds(spec.retry_on) if spec.retries else (),
        ports=tuple(dict.fromkeys(spec.ports)),
    )


def _site_of_cluster(tx: Connection, project: Project, cluster: str | None) -> str | None:
    """Where a job has to run that uses this cluster. NotReady while programs cannot use it."""
    return None if cluster is None else cluster_use.usable(tx, project, cluster).site_id


def _gather_artifacts(deps: Deps, actor: Actor, project: Project, wanted: Sequence[JobInput]) -> None:
    """Commit what runs have logged so far: `.artifacts@RUN` as an input means all of it."""
    for asked in wanted:
        if asked.name == ARTIFACT_DATASET and asked.ref and not asked.commit_id:
            reading.find_commit(deps, actor, f"{asked.dataset}@{asked.ref}", project=project.name)


def _inputs(tx: Connection, actor: Actor, project: Project, spec: JobSpec) -> tuple[JobInput, ...]:
    found: dict[str, JobInput] = {}
    for asked in spec.inputs:
        item = _input(tx, actor, project, asked)
        if _OWN_VARIABLE.fullmatch(asked.env):
            item = replace(item, env=asked.env)
        # Made by the server: it says how its inputs are called, and what part they are.
        if spec.kind in (JobKind.STEP, JobKind.SERVICE):
            item = replace(item, env=asked.env, path=asked.path, streamed=asked.streamed)
        other = found.get(item.env)
        if other is not None:
            raise BadRequest(
                f"{other.dataset} and {item.dataset} would both set ${item.env}.",
                hint="Each input needs its own variable: remove one of them.",
            )
        found[item.env] = item
    return tuple(found.values())


def _input(tx: Connection, actor: Actor, project: Project, asked: JobInput) -> JobInput:
    """The input at the given commit, or at the commit of its ref."""
    at = asked.commit_id or asked.ref
    dataset, ref = datasets.find_written(
        tx, actor, f"{asked.dataset}@{at}" if at else asked.dataset, project=project.name
    )
    return JobInput(
        dataset=f"{dataset.project}/{dataset.name}",
        ref=asked.ref or DEFAULT_BRANCH,
        commit_id=refs.resolve(tx, dataset, ref).id,
        dataset_id=dataset.id,
        env=environment_name(dataset.name),
    )


def _check_code(tx: Connection, project: Project, code_commit: str | None) -> None:
    if code_commit is not None and not placements.commit_is_in(
        tx, code_commit, project_id=project.id, dataset_name=CODE_DATASET
    ):
        raise NotFound(
            f"Project {project.name!r} has no code commit {code_commit[:64]!r}.",
            hint="`mill submit` uploads the working directory before it submits.",
            noun="commit",
            name=code_commit[:64],
        )


def _after(tx: Connection, project: Project, wanted: Sequence[Dependency]) -> tuple[Dependency, ...]:
    """Resolve dependencies. They exist already and never change theirs, so there are no cycles."""
    found: dict[str, Dependency] = {}
    for asked in wanted:
        if asked.when not in (SUCCESS, ANY_END):
            raise Invalid(
                f"Invalid dependency condition {asked.when!r}.", hint="Write JOB, JOB:success or JOB:any.",
                fields=["after"],
            )  # fmt: skip
        other = find(tx, project, asked.job)
        found[other.id] = Dependency(other.id, asked.when)
    return tuple(found.values())


def check_quota(tx: Connection, project: Project, spec: JobSpec) -> None:
    refused = beyond_quota(spec, project, projects.all_of(tx))
    if refused is not None:
        raise DoesNotFit(refused.reason, hint=refused.hint)


def _check_compute(tx: Connection, name: str | None) -> None:
    if name is not None and computes.find(tx, name) is None and name not in elastic.known_names(tx):
        known = [compute.name for compute in computes.all_computes(tx)]
        raise access.not_found("compute", name, [*known, *elastic.known_names(tx)])


def first_choice(tx: Connection, compute: str | None, found: Sequence[TemplateChoice], now: datetime) -> TemplateChoice:
    """The first choice that some node could ever run; a busy node is waited for.

    Raises DoesNotFit if no known node could ever run it.
    """
    _check_compute(tx, compute)
    if _has_a_place(tx, found[0].spec, now):
        return found[0]
    everywhere = [*snapshot.node_views(tx, now), *elastic.possible_nodes(tx)]
    refused = None
    for choice in found:
        problem = refusal(QueuedJob("", choice.spec), everywhere)
        if problem is None:
            return choice
        refused = refused or problem
    raise DoesNotFit(refused.reason if refused else None, hint=refused.hint if refused else None)


def _has_a_place(tx: Connection, spec: JobSpec, now: datetime) -> bool:
    """True if one of a few nodes of its size could run it: most jobs are found a place so, without a look at all."""
    some = snapshot.node_views(tx, now, nodes.large_enough(tx, spec.resources, limit=_SOME_NODES))
    is_named = any(node.answers_to(spec.compute) for node in some)
    return is_named and refusal(QueuedJob("", spec), some) is None


def choices_of(tx: Connection, spec: JobSpec) -> Sequence[TemplateChoice]:
    if spec.on is None:
        return [TemplateChoice(spec)]
    check_named(tx, spec.on)
    entries = entries_of(spec.on, queues.by_name(tx)) or [QueueEntry(spec.on)]
    found, refused = choices(spec, entries, templates.by_name(tx))
    if not found:
        raise BadRequest(
            f"The job cannot run on {spec.on}: {'; '.join(refused)}.",
            hint="Remove what differs, or choose another template: mill template list",
        )
    return found


def _insert(
    deps: Deps, actor: Actor, project: Project, name: str | None, choice: TemplateChoice, now: datetime,
    params: Mapping[str, Any], also: Also | None,
) -> Job:  # fmt: skip
    """Insert the job; retry if another request takes the name or number first."""
    for _ in range(_TRIES):
        try:
            with deps.db.write() as tx:
                job = _new_job(tx, actor, project, name, choice, now)
                run = new_run(job)
                runs.insert(tx, run)
                experiments.ensure(tx, project.id, run.experiment, now)
                run_values.set_params(tx, run, checked_params({**params, **job.spec.params}), now)
                run_values.set_tags(tx, run, job.spec.tags)
                jobs.insert(tx, job)
                job_changes.note_submitted(tx, job)
                request_keys.note_made(tx, f"/projects/{project.name}/jobs/{job.id}")
                if also is not None:
                    also(tx, job, run)
                audit.record(
                    tx, now=job.queued_at, actor=actor, action="job.submit", subject=f"{project.name}/{job.name}",
                    project_id=project.id, details={"job": job.id},
                )  # fmt: skip
        except IntegrityError:
            continue
        return job
    raise NameTaken(f"Other jobs named {name!r} are being submitted right now.", hint="Try again in a moment.")


def _new_job(
    tx: Connection, actor: Actor, project: Project, wanted: str | None, choice: TemplateChoice, now: datetime
) -> Job:  # fmt: skip
    """A job under a name that is free."""
    job_id = new_job_id()
    name = wanted or made_name(job_id)
    newest = jobs.newest_number(tx, project.id, name)
    if newest and wanted is None:
        # A made name that another job has had: two strangers do not become `calm-otter#2`.
        name = f"{name}-{job_id[:4]}"
        newest = jobs.newest_number(tx, project.id, name)
    holder = jobs.holder(tx, project.id, name) if newest else None
    if holder is not None:
        raise _taken(holder)
    return Job(
        id=job_id,
        project_id=project.id,
        project=project.name,
        name=name,
        number=newest + 1,
        run_id=new_job_id(),
        created_by=actor.name,
        queued_at=now,
        spec=choice.spec,
        status=JobStatus(reasons=(f"Submitted by {actor.name}.",), template=choice.use),
        trace=tracing.traceparent() if tracing.is_on() else None,
    )


def _taken(holder: Job) -> NameTaken:
    return NameTaken(
        f"Job {holder.name!r} is {holder.status.state.value}: {holder.id}, submitted by {holder.created_by}.",
        hint=f"Choose another name, wait for it to end, or stop it with `mill stop {holder.name}`.",
        id=holder.id,
        state=holder.status.state.value,
        created_by=holder.created_by,
    )


def new_run(job: Job) -> Run:
    return Run(
        id=job.run_id,
        project_id=job.project_id,
        project=job.project,
        experiment=job.spec.experiment or DEFAULT_EXPERIMENT,
        name=job.name,
        job_id=job.id,
        state=RunState.RUNNING,
        created_by=job.created_by,
        started_at=job.queued_at,
        ended_at=None,
        seen_at=job.queued_at,
        deleted_at=None,
    )
