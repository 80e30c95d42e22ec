"""`millpond.submit(["python", "train.py"], processes=3)`: submit a job from Python, as `mill submit` does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from millpond.client.code import commit_code
from millpond.client.credentials import resolve_target
from millpond.client.environment import commit_environment
from millpond.client.git import checked_out, read_state
from millpond.client.http import Api
from millpond.client.jobs import get_job, list_events, resume_job, stop_job, submit_job, suspend_job, wait_for_job
from millpond.client.logs import follow_log, read_all
from millpond.client.task_file import EMPTY, Task, read_task, write_task
from millpond.errors import BadRequest
from millpond.lake.scan import Skipped
from millpond.model.job import JobState
from millpond.model.job_spec import Launcher
from millpond.model.path import to_text
from millpond.model.quantity import parse_bytes, parse_gpus, parse_seconds
from millpond.model.secret import parse_secret
from millpond.wire.jobs import Job, JobEvent


def submit(
    command: Sequence[str] | str | None = None,
    *,
    file: Path | str | None = None,
    name: str | None = None,
    data: Sequence[str] | None = None,
    env: Mapping[str, str] | None = None,
    secrets: Sequence[str] | None = None,
    processes: int | None = None,
    mpi: bool | None = None,
    cpu: int | None = None,
    memory: str | None = None,
    gpu: str | float | None = None,
    image: str | None = None,
    snapshots: str | None = None,
    compute: str | None = None,
    on: str | None = None,
    options: Mapping[str, str] | None = None,
    timeout: str | None = None,
    grace: str | None = None,
    retries: int | None = None,
    code: Path | str | None = ".",
    server: str | None = None,
    project: str | None = None,
    **spec: Any,
) -> Submitted:
    """Run `command` as a job, with the folder `code` as its code (None: no code). A string is run by `sh -c`.

    `file` is a task file, as of `mill submit -f`; what is given beside it overrides it.
    With `processes`, the job is distributed: all processes start or none, and `cpu`, `memory` and `gpu` apply to each.
    With `mpi`, mpirun starts them, as of `mill submit-mpi`.
    `snapshots` ("start,end,every=30m") says when snapshots of its workspaces are taken for its run.
    `on` names a template or queue, which fills in what is left out. `secrets` of the project become variables:
    `"NAME"`, or `"VARIABLE=NAME"`. `options` are for the driver of the compute, like `{"partition": "long"}` of Slurm.
    `grace` is the time between SIGTERM and SIGKILL. Other fields of a specification may be
    given by name, like `priority=5`.
    Raises DoesNotFit if no compute can ever run it.
    """
    task = read_task(Path(file)) if file is not None else EMPTY
    named = {
        "command": ["sh", "-c", command] if isinstance(command, str) else list(command) if command else None,
        "inputs": None if data is None else list(data),
        "env": None if env is None else dict(env),
        "secrets": None if secrets is None else dict(parse_secret(text) for text in secrets),
        "processes": processes,
        "launcher": None if mpi is None else (Launcher.MPI if mpi else Launcher.TORCH).value,
        "cpu": cpu,
        "memory_bytes": None if memory is None else parse_bytes(memory),
        "gpu_hundredths": None if gpu is None else parse_gpus(str(gpu)),
        "image": image,
        "snapshots": snapshots,
        "compute": compute,
        "on": on,
        "options": None if options is None else dict(options),
        "timeout_seconds": None if timeout is None else parse_seconds(timeout),
        "grace_seconds": None if grace is None else parse_seconds(grace),
        "retries": retries,
    }
    given = {key: value for key, value in named.items() if value is not None} | spec
    task = replace(task, name=name or task.name)
    if "command" not in given and "command" not in task.document:
        raise BadRequest("No command given.", hint='Give one: millpond.submit(["python", "train.py"])')
    target = resolve_target(server, project)
    api = Api(target.server, target.token)
    task.request(**given)  # before anything is sent
    if task.requirements is not None:
        given["environment"] = commit_environment(api, target.project, task.requirements).id
    if code is not None and task.code and "code_commit" not in {*task.document, *given}:
        given |= send_code(api, target.project, task, Path(code).absolute())
    return Submitted(api, submit_job(api, target.project, task.request(**given)))


def send_code(api: Api, project: str, task: Task, folder: Path) -> dict[str, Any]:
    skipped = Skipped()
    if task.git is None:
        commit, state = commit_code(api, project, folder, warn=skipped), read_state(folder)
    else:
        with checked_out(task.git, folder) as checkout:
            commit = commit_code(api, project, checkout.folder, whole=True, warn=skipped)
            state = checkout.state
    if skipped:
        named = ", ".join(f"{to_text(path)!r} ({why})" for path, why in sorted(skipped.items()))
        warnings.warn(f"Not sent with the code, because a commit cannot hold it: {named}", stacklevel=3)
    return {"code_commit": commit.id, "tags": {**task.document.get("tags", {}), **(state.tags() if state else {})}}


class Submitted:
    """A submitted job. `job` is its last known state."""

    def __init__(self, api: Api, job: Job) -> None:
        self._api = api
        self.job = job

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def state(self) -> JobState:
        """Current state, asked from the server."""
        self.job = get_job(self._api, self.job.project, self.job.id)
        return self.job.state

    def wait(self, timeout: str | None = None) -> Job:
        """Return the job when it has ended, or after `timeout` (like `90m`)."""
        seconds = None if timeout is None else parse_seconds(timeout)
        self.job = wait_for_job(self._api, self.job.project, self.job.id, timeout=seconds)
        return self.job

    def logs(self, *, rank: int | None = None, follow: bool = False) -> Iterator[bytes]:
        """The log; for a distributed job that of `rank`, by default of the one that failed first."""
        place = (self._api, self.job.project, self.job.id)
        return follow_log(*place, rank=rank or 0) if follow else read_all(*place, rank=rank)

    def events(self) -> list[JobEvent]:
        """Events of the job, oldest first."""
        return list_events(self._api, self.job.project, self.job.id)

    def to_yaml(self) -> str:
        """The job as a task file, to submit it again."""
        return write_task(self.job)

    def suspend(self) -> None:
        """Stop the job for a while; it keeps its checkpoint and waits for `resume`."""
        self.job = suspend_job(self._api, self.job.project, self.job.id)

    def resume(self) -> None:
        """Put a suspended job back into the queue."""
        self.job = resume_job(self._api, self.job.project, self.job.id)

    def stop(self) -> None:
        """Stop the job and keep everything it made."""
        self.job = stop_job(self._api, self.job.project, self.job.id)
