"""Opens workspaces for people: an interactive job that has one as its home, found again while it runs."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import jobs, workspaces
from millpond.errors import BadRequest, Conflict, NameTaken, NotReady
from millpond.model.job import Job, JobState
from millpond.model.job_spec import JobInput, JobKind, JobSpec, JobWorkspace
from millpond.model.people import Actor, Project
from millpond.model.workspace import Workspace
from millpond.model.workspace_session import SESSION_TAG, SESSION_TARGET, SessionKind
from millpond.services.deps import Deps
from millpond.services.jobs import submit
from millpond.services.jobs.jobs import find as find_job
from millpond.services.people import access as people_access
from millpond.services.runs import logs
from millpond.services.workspaces import access
from millpond.services.workspaces.session_programs import command, kind_of, packages_commit

_PORTS = (20_000, 60_000)
_LAST_BYTES = 2_000
_NAME_LENGTH = 63


@dataclass(frozen=True, slots=True)
class SessionAsked:
    """What the job of a session asks for. `install`: build an environment that has the program, and `environment`
    is the commit of another one."""

    kind: SessionKind
    on: str | None = None
    cpu: int = 0
    memory_bytes: int = 0
    gpu_hundredths: int = 0
    image: str | None = None
    inputs: Sequence[JobInput] = ()
    workspaces: Sequence[JobWorkspace] = ()
    compute: str | None = None
    install: bool = False
    environment: str | None = None
    idle_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    job: Job
    kind: SessionKind
    # The end of its log, for one that has failed.
    said: str = ""

    @property
    def port(self) -> int | None:
        return self.job.spec.ports[0] if self.job.spec.ports else None


def open_session(deps: Deps, actor: Actor, project: Project, written: str, asked: SessionAsked) -> tuple[Session, bool]:
    """The session of this kind, begun if there is none; whether it was."""
    with deps.db.read() as tx:
        workspace = access.find_used(tx, actor, project, written)
        found = _living(tx, workspace)
    if same := [one for one in found if one.kind is asked.kind]:
        return same[0], False
    spec = _spec(deps, actor, project, workspace, asked)
    name = f"{workspace.name}-{asked.kind.value}"[:_NAME_LENGTH]
    try:
        job = submit.enqueue(deps, actor, project, spec, name=name)
    except NameTaken:  # by somebody who opened it at the same moment, or by a job of another kind
        with deps.db.read() as tx:
            same = [one for one in _living(tx, workspace) if one.kind is asked.kind]
        if same:
            return same[0], False
        job = submit.enqueue(deps, actor, project, spec)
    return Session(job, asked.kind), True


def list_sessions(deps: Deps, actor: Actor, project: Project, written: str) -> Sequence[Session]:
    """Those that have not ended, oldest first."""
    with deps.db.read() as tx:
        return _living(tx, access.find_used(tx, actor, project, written))


def get_session(deps: Deps, actor: Actor, project: Project, written: str, job_text: str) -> Session:
    """One that may have ended; of a failed one, with the end of its log."""
    with deps.db.read() as tx:
        workspace = access.find_used(tx, actor, project, written)
        job = find_job(tx, project, job_text)
    kind = kind_of(job)
    if kind is None or not _is_home(workspace, job):
        raise people_access.not_found("session", job_text)
    if job.status.state is not JobState.FAILED:
        return Session(job, kind)
    tail = logs.read(deps, job, -_LAST_BYTES, _LAST_BYTES).data.decode(errors="replace").strip()
    return Session(job, kind, tail.splitlines()[-1] if tail else "")


def require_running(session: Session) -> int:
    """The port it listens at. NotReady before it runs, Conflict after it ended, BadRequest for a shell."""
    job = session.job
    if job.status.state.is_finished:
        raise Conflict(
            f"{session.kind.title} {job.status.state.value}: {session.said or job.status.problem or 'see its log'}",
            hint=f"mill logs {job.id}",
        )
    if job.status.state is not JobState.RUNNING:
        raise NotReady(f"{session.kind.title} is {job.status.state.value}.", hint=f"mill why {job.id}")
    if session.port is None:
        raise BadRequest("A shell has no port to open.", hint=f"mill bash {job.id}")
    return session.port


def _living(tx: Connection, workspace: Workspace) -> Sequence[Session]:
    living = workspaces.living_jobs(tx, [workspace.id]).get(workspace.id, ())
    known = jobs.by_ids(tx, [job_id for job_id, _, _ in living])
    found = [known[job_id] for job_id, _, _ in living if job_id in known]
    open_now = [job for job in found if _is_home(workspace, job) and job.status.stop_requested_at is None]
    return [Session(job, kind) for job in open_now if (kind := kind_of(job)) is not None]


def _is_home(workspace: Workspace, job: Job) -> bool:
    return any(one.home and one.id == workspace.id for one in job.spec.workspaces)


def _spec(deps: Deps, actor: Actor, project: Project, workspace: Workspace, asked: SessionAsked) -> JobSpec:
    if asked.install and asked.environment:
        raise BadRequest("Give install or an environment, not both.", hint="Add jupyterlab to your requirements.")
    if asked.install and asked.image:
        raise BadRequest("Give install or an image, not both.", hint="Choose an image that has the program.")
    port = _PORTS[0] + secrets.randbelow(_PORTS[1] - _PORTS[0])
    made = packages_commit(deps, project, asked.kind, author=actor.name) if asked.install else None
    return JobSpec(
        command=command(asked.kind, port),
        kind=JobKind.INTERACTIVE,
        inputs=tuple(asked.inputs),
        image=asked.image,
        on=asked.on,
        cpu=asked.cpu,
        memory_bytes=asked.memory_bytes,
        gpu_hundredths=asked.gpu_hundredths,
        compute=asked.compute,
        environment=made or asked.environment,
        ports=() if asked.kind is SessionKind.SHELL else (port,),
        idle_seconds=asked.idle_seconds,
        workspaces=(JobWorkspace(workspace.name, SESSION_TARGET, home=True), *asked.workspaces),
        tags={SESSION_TAG: asked.kind.value},
    )
