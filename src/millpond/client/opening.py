"""Opens a workspace: an interactive job that has it as its home, with JupyterLab, code-server or a shell."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millpond.client.http import Api, segment
from millpond.client.jobs import get_job, submit_job
from millpond.client.streams import STDOUT, open_exec
from millpond.client.workspaces import get_workspace
from millpond.errors import BadRequest, Conflict, NotFound, NotReady, Unavailable
from millpond.model.job import JobState
from millpond.model.job_spec import JobInput, JobKind, JobSpec, JobWorkspace
from millpond.model.names import check_name
from millpond.wire.jobs import Job, JobCreate, PortAddress

# Tags of such a job: what it was opened with.
OPENED = "millpond.opened"
TARGET = "/workspace"
POLL_SECONDS = 0.5
_PORTS = (20_000, 60_000)
# Where the program's own password lies, for nobody but the job's account.
_SECRET = '"$TMPDIR/.opened"'
_MAKE_SECRET = (
    f'umask 077; s=$(od -An -N24 -tx1 /dev/urandom | tr -d \' \\n\'); printf %s "$s" > {_SECRET}; cd "$HOME"; '
)
_PROGRAMS = {
    "lab": (
        "command -v jupyter >/dev/null || {{ echo 'JupyterLab is not installed here: choose an --image that has it, "
        "or add it to the environment.' >&2; exit 127; }}; "
        "JUPYTER_TOKEN=$s exec jupyter lab --ip=127.0.0.1 --port={port} --ServerApp.port_retries=0 --no-browser "
        '--ServerApp.allow_remote_access=True --ServerApp.root_dir="$HOME" --allow-root'
    ),
    "code": (
        "command -v code-server >/dev/null || {{ echo 'code-server is not installed here: choose an --image that has "
        "it.' >&2; exit 127; }}; "
        'PASSWORD=$s exec code-server --auth password --bind-addr 127.0.0.1:{port} "$HOME"'
    ),
    "shell": "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done",
}


@dataclass(frozen=True, slots=True)
class OpenWith:
    """What the job asks for."""

    kind: str = "shell"
    cpu: int = 0
    memory_bytes: int = 0
    gpu_hundredths: int = 0
    image: str | None = None
    data: Sequence[str] = ()
    compute: str | None = None
    idle_seconds: int = 0


def open_workspace(api: Api, project: str, name: str, asked: OpenWith) -> tuple[Job, bool]:
    """The job that has the workspace open so, begun if there is none; whether it was."""
    if asked.kind not in _PROGRAMS:
        raise BadRequest(f"A workspace cannot be opened as {asked.kind!r}.", hint="Choose lab, code or shell.")
    found = get_workspace(api, project, name)
    for one in found.jobs:
        job = get_job(api, project, one.id)
        if job.spec.tags.get(OPENED) == asked.kind and not job.state.is_finished:
            return job, False
    request = JobCreate(name=check_name(f"{name}-{asked.kind}"[:63], "job"), spec=_spec(name, asked))
    return submit_job(api, project, request), True


def wait_until_open(api: Api, project: str, job: Job, *, changed: Callable[[Job], None] = lambda _: None) -> Job:
    """The job once its command runs, and its program has begun. Conflict if it ended before that."""
    while True:
        found = get_job(api, project, job.id)
        changed(found)
        if found.state.is_finished:
            raise Conflict(
                f"Job {found.name} {found.state.value}: {found.problem or 'see its log'}", hint=f"mill logs {found.id}"
            )
        if found.state is JobState.RUNNING and _has_begun(api, project, found):
            return found
        time.sleep(POLL_SECONDS)


def _has_begun(api: Api, project: str, job: Job) -> bool:
    if not job.spec.ports:
        return True
    try:
        return bool(password_of(api, project, job))
    except (NotFound, NotReady, Unavailable):
        return False


def opened_url(api: Api, project: str, job: Job) -> str:
    """An address for a browser that works once. NotReady if the job does not run, or the server has no such hosts."""
    if job.state is not JobState.RUNNING:
        raise NotReady(f"Job {job.name} is {job.state.value}.", hint=f"mill why {job.id}")
    port = job.spec.ports[0]
    address = api.send("POST", f"/projects/{segment(project)}/jobs/{segment(job.id)}/ports/{port}/open", PortAddress)
    if job.spec.tags.get(OPENED) != "lab":
        return address.url
    return f"{address.url}?next=%2Flab%3Ftoken%3D{password_of(api, project, job)}"


def password_of(api: Api, project: str, job: Job) -> str:
    """The program's own password, read from where only the job sees it."""
    told = bytearray()
    with open_exec(api, project, job.id, ["sh", "-c", f"cat {_SECRET}"]) as stream:
        for message in stream.messages():
            if isinstance(message, bytes) and message[0] == STDOUT:
                told += message[1:]
            elif isinstance(message, dict) and "exit" in message:
                break
    if not told:
        raise NotFound(f"Job {job.name} has not begun its program yet.", hint=f"mill logs {job.id}")
    return told.decode().strip()


def _spec(name: str, asked: OpenWith) -> JobSpec:
    port = _PORTS[0] + secrets.randbelow(_PORTS[1] - _PORTS[0])
    script = _MAKE_SECRET + _PROGRAMS[asked.kind].format(port=port)
    return JobSpec(
        command=("sh", "-c", script),
        kind=JobKind.INTERACTIVE,
        inputs=tuple(JobInput.parse(text) for text in asked.data),
        image=asked.image,
        cpu=asked.cpu,
        memory_bytes=asked.memory_bytes,
        gpu_hundredths=asked.gpu_hundredths,
        compute=asked.compute,
        ports=() if asked.kind == "shell" else (port,),
        idle_seconds=asked.idle_seconds,
        workspaces=(JobWorkspace(name, TARGET, home=True),),
        tags={OPENED: asked.kind},
    )
