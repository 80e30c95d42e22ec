"""`millpond.submit(["python", "train.py"], processes=3)`: a job from a script, as `mill submit` makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

from millpond.client.code import commit_code
from millpond.client.credentials import resolve_target
from millpond.client.git import read_state
from millpond.client.http import Api
from millpond.client.jobs import get_job, stop_job, submit_job, wait_for_job
from millpond.client.logs import follow_log, read_all
from millpond.model.job import JobState
from millpond.model.job_spec import JobInput, JobSpec
from millpond.model.quantity import parse_bytes, parse_gpus, parse_seconds
from millpond.model.secret import parse_secret
from millpond.wire.jobs import Job, JobCreate


def submit(
    command: Sequence[str],
    *,
    name: str | None = None,
    data: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    secrets: Sequence[str] = (),
    processes: int = 0,
    cpu: int = 0,
    memory: str = "0",
    gpu: str | float = 0,
    image: str | None = None,
    compute: str | None = None,
    options: Mapping[str, str] | None = None,
    timeout: str | None = None,
    retries: int = 0,
    code: Path | str | None = ".",
    server: str | None = None,
    project: str | None = None,
) -> Submitted:
    """Run `command` as a job, with the folder `code` as its code (None: without any).

    With `processes` it is a distributed job: so many of the command start together, or none, and `cpu`, `memory` and
    `gpu` are for each of them. `secrets` of the project become variables: `"NAME"`, or `"VARIABLE=NAME"`. `options` are
    asked of the driver of the compute, like `{"partition": "long"}` of Slurm.
    Raises DoesNotFit where no compute can ever run it.
    """
    target = resolve_target(server, project)
    api = Api(target.server, target.token)
    spec = JobSpec(
        command=tuple(command),
        env=dict(env or {}),
        secrets=dict(parse_secret(text) for text in secrets),
        inputs=tuple(JobInput.parse(text) for text in data),
        processes=processes,
        cpu=cpu,
        memory_bytes=parse_bytes(memory),
        gpu_hundredths=parse_gpus(str(gpu)),
        image=image,
        compute=compute,
        options=dict(options or {}),
        timeout_seconds=0 if timeout is None else ceil(parse_seconds(timeout)),
        retries=retries,
    )
    if code is not None:
        folder = Path(code).absolute()
        state = read_state(folder)
        commit = commit_code(api, target.project, folder)
        spec = replace(spec, code_commit=commit.id, tags=state.tags() if state else {})
    return Submitted(api, submit_job(api, target.project, JobCreate(name=name, spec=spec)))


class Submitted:
    """A job that was submitted. `job` is what was last heard of it."""

    def __init__(self, api: Api, job: Job) -> None:
        self._api = api
        self.job = job

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def state(self) -> JobState:
        """As it is now."""
        self.job = get_job(self._api, self.job.project, self.job.id)
        return self.job.state

    def wait(self, timeout: str | None = None) -> Job:
        """The job once it has ended, or as it is when `timeout` (like `90m`) is over."""
        seconds = None if timeout is None else parse_seconds(timeout)
        self.job = wait_for_job(self._api, self.job.project, self.job.id, timeout=seconds)
        return self.job

    def logs(self, *, rank: int | None = None, follow: bool = False) -> Iterator[bytes]:
        """What it wrote; of a distributed job that of `rank`, or of the one that failed first."""
        place = (self._api, self.job.project, self.job.id)
        return follow_log(*place, rank=rank or 0) if follow else read_all(*place, rank=rank)

    def stop(self) -> None:
        """End it and keep everything it made."""
        self.job = stop_job(self._api, self.job.project, self.job.id)
