"""Submitting a job: everything it names is checked and fixed to commits before it is queued."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from millpond.db import computes, jobs, placements, runs
from millpond.decide.capability import refusal
from millpond.decide.computes import QueuedJob
from millpond.decide.job_names import made_name
from millpond.decide.readiness import ANY_END, SUCCESS
from millpond.decide.retry import checked_kinds
from millpond.errors import BadRequest, DoesNotFit, Invalid, NameTaken, NotFound
from millpond.model.ids import new_job_id
from millpond.model.job import Dependency, Job, JobInput, JobKind, JobState, Resources
from millpond.model.names import CODE_DATASET, DEFAULT_BRANCH, check_name, environment_name
from millpond.model.people import Actor, Project
from millpond.model.run import Run, RunState
from millpond.model.secret import RESERVED
from millpond.services.commits import refs
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes, job_data, snapshot
from millpond.services.jobs.jobs import find
from millpond.services.people import access, audit, secrets
from millpond.wire.jobs import JobCreate

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
DEFAULT_EXPERIMENT = "default"
MAX_EXPERIMENT = 200
_TRIES = 5


def submit(deps: Deps, actor: Actor, project: Project, request: JobCreate) -> Job:
    """The queued job. Its data is on its way when this returns, and the scheduler has been woken."""
    kind = JobKind.INTERACTIVE if request.interactive else JobKind.TRAINING
    return enqueue(deps, actor, project, request, kind)


def enqueue(deps: Deps, actor: Actor, project: Project, request: JobCreate, kind: JobKind) -> Job:
    """As `submit`, for jobs of any kind."""
    _check(request)
    now = deps.clock.now()
    with deps.db.read() as tx:
        inputs = _inputs(tx, actor, project, request.inputs)
        _check_code(tx, project, request.code_commit)
        _check_code(tx, project, request.environment)
        after = _after(tx, project, request.after)
        secrets.check_of_job(tx, project, request.secrets)
        _check_fits(tx, request, kind, now)
    template = _template(actor, project, request, kind, now)
    job = _insert(deps, actor, project, request, replace(template, inputs=inputs, after=after))
    job_data.prefetch(deps, job, now)
    job_changes.announce(deps, [job])
    return job


def _check(request: JobCreate) -> None:
    if request.name is not None:
        check_name(request.name, "job")
    if not request.command[0]:
        raise Invalid("The command is empty.", fields=["command"])
    texts = [*request.command, *request.env, *request.env.values(), *request.tags, *request.tags.values()]
    if any("\0" in text for text in texts):
        raise Invalid("A command, its environment and tags cannot hold a zero byte.", fields=["command", "env", "tags"])
    if both := sorted(request.env.keys() & request.secrets.keys()):
        raise Invalid(f"{both[0]!r} is both a variable and a secret.", fields=["env", "secrets"])
    for name in (*request.env, *request.secrets):
        if not _VARIABLE.fullmatch(name):
            raise Invalid(f"{name!r} cannot name an environment variable.", fields=["env"])
        if name.startswith(RESERVED):
            raise Invalid(
                f"{name!r} is Millpond's own to set.",
                hint=f"Names that begin with {RESERVED} are reserved: choose another one.",
                fields=["env"],
            )
    if (request.ports or request.idle_seconds) and not request.interactive:
        raise Invalid(
            "Ports and an idle time are for interactive jobs.", hint="Submit it as interactive.",
            fields=["ports", "idle_seconds"],
        )  # fmt: skip
    if request.experiment is not None and not 1 <= len(request.experiment) <= MAX_EXPERIMENT:
        raise Invalid(f"An experiment's name has 1 to {MAX_EXPERIMENT} characters.", fields=["experiment"])


def _inputs(tx: Connection, actor: Actor, project: Project, written: Sequence[str]) -> tuple[JobInput, ...]:
    found: dict[str, JobInput] = {}
    for text in written:
        item = _input(tx, actor, project, text)
        other = found.get(item.env)
        if other is not None:
            raise BadRequest(
                f"{other.project}/{other.dataset} and {item.project}/{item.dataset} would both be ${item.env}.",
                hint="A job has one input per variable: leave one of them out.",
            )
        found[item.env] = item
    return tuple(found.values())


def _input(tx: Connection, actor: Actor, project: Project, text: str) -> JobInput:
    dataset, ref = datasets.find_written(tx, actor, text, project=project.name)
    return JobInput(
        project=dataset.project,
        dataset=dataset.name,
        dataset_id=dataset.id,
        ref=ref or DEFAULT_BRANCH,
        commit_id=refs.resolve(tx, dataset, ref).id,
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


def _after(tx: Connection, project: Project, written: Sequence[str]) -> tuple[Dependency, ...]:
    """The jobs it comes after. They exist already and never change theirs, so jobs cannot wait for each other."""
    found: dict[str, Dependency] = {}
    for text in written:
        name, colon, when = text.rpartition(":")
        if colon and when not in (SUCCESS, ANY_END):
            raise Invalid(
                f"{when!r} is not what a job can come after.", hint="Write JOB, JOB:success or JOB:any.",
                fields=["after"],
            )  # fmt: skip
        other = find(tx, project, name if colon else text)
        found[other.id] = Dependency(other.id, when if colon else SUCCESS)
    return tuple(found.values())


def _check_compute(tx: Connection, name: str | None) -> None:
    if name is not None and computes.find(tx, name) is None:
        raise access.not_found("compute", name, [compute.name for compute in computes.all_computes(tx)])


def _check_fits(tx: Connection, request: JobCreate, kind: JobKind, now: datetime) -> None:
    """Refused only if no node that is known could ever run it; what is merely busy is waited for."""
    _check_compute(tx, request.compute)
    job = QueuedJob(
        "",
        _resources(request),
        compute=request.compute,
        image=request.image is not None,
        processes=request.processes,
        reached=snapshot.ways_into(kind, request.ports),
        options=snapshot.written_options(request.options),
    )
    refused = refusal(job, snapshot.node_views(tx, now, empty=True))
    if refused is not None:
        raise DoesNotFit(refused.reason, hint=refused.hint)


def _insert(deps: Deps, actor: Actor, project: Project, request: JobCreate, template: Job) -> Job:
    """Somebody may take the name, or number, at the same moment: then it is looked at again."""
    for _ in range(_TRIES):
        try:
            with deps.db.write() as tx:
                job = _named(tx, project, request.name, template)
                runs.insert(tx, _new_run(job, request))
                jobs.insert(tx, job)
                audit.record(
                    tx, now=job.queued_at, actor=actor, action="job.submit", subject=f"{project.name}/{job.name}",
                    project_id=project.id, details={"job": job.id},
                )  # fmt: skip
        except IntegrityError:
            continue
        return job
    raise NameTaken(f"Others submit jobs of the name {request.name!r} just now.", hint="Try again in a moment.")


def _named(tx: Connection, project: Project, wanted: str | None, template: Job) -> Job:
    """A new job like the template, under a name that no other has now."""
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
    return replace(template, id=job_id, name=name, number=newest + 1, run_id=new_job_id())


def _resources(request: JobCreate) -> Resources:
    return Resources(request.cpu, request.memory_bytes, request.gpu_hundredths, request.gpu_enforced)


def _template(actor: Actor, project: Project, request: JobCreate, kind: JobKind, now: datetime) -> Job:
    """The job before it has a name, its inputs and those it comes after."""
    return Job(
        id="",
        project_id=project.id,
        project=project.name,
        name="",
        number=0,
        kind=kind,
        command=tuple(request.command),
        env=request.env,
        resources=_resources(request),
        image=request.image,
        code_commit=request.code_commit,
        inputs=(),
        state=JobState.QUEUED,
        reasons=(f"Submitted by {actor.name}.",),
        run_id="",
        created_by=actor.name,
        stop_requested_at=None,
        queued_at=now,
        placed_at=None,
        filled_at=None,
        started_at=None,
        exited_at=None,
        ended_at=None,
        deleted_at=None,
        exit_code=None,
        signal=None,
        problem=None,
        output_commit=None,
        placement_id=None,
        compute=None,
        node=None,
        wanted_compute=request.compute,
        priority=request.priority,
        timeout_seconds=request.timeout_seconds,
        retries=request.retries,
        retry_on=checked_kinds(request.retry_on) if request.retries else (),
        backoff_seconds=request.backoff_seconds,
        environment_source=request.environment,
        ports=tuple(dict.fromkeys(request.ports)),
        idle_seconds=request.idle_seconds,
        secrets=request.secrets,
        processes=request.processes,
        options=request.options,
    )


def _taken(holder: Job) -> NameTaken:
    return NameTaken(
        f"The job {holder.name!r} is {holder.state.value}: {holder.id}, submitted by {holder.created_by}.",
        hint=f"Choose another name, wait for it to end, or stop it with `mill stop {holder.name}`.",
        id=holder.id,
        state=holder.state.value,
        created_by=holder.created_by,
    )


def _new_run(job: Job, request: JobCreate) -> Run:
    return Run(
        id=job.run_id,
        project_id=job.project_id,
        project=job.project,
        experiment=request.experiment or DEFAULT_EXPERIMENT,
        name=job.name,
        job_id=job.id,
        state=RunState.RUNNING,
        params={},
        tags=request.tags,
        created_by=job.created_by,
        started_at=job.queued_at,
        ended_at=None,
        seen_at=job.queued_at,
        deleted_at=None,
    )
