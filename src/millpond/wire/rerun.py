"""Making a run again: what is asked, and what becomes of it."""

from __future__ import annotations

from pydantic import Field

from millpond.model.job_spec import JobSpec
from millpond.model.rerun import ParamPlace, PartState
from millpond.wire.base import Request, Response
from millpond.wire.jobs import Job


class RerunAsked(Request):
    """What the new run has otherwise; what is left out stays as it was.

    A parameter is set where it stands: in the command (`--lr 0.1`, `--lr=0.1`, `lr=0.1`), in a variable of that name,
    or else in MILL_PARAMS, which `run.params` of the SDK reads.
    """

    params: dict[str, str] = Field(default={}, max_length=1000)
    # A template or queue.
    on: str | None = Field(default=None, min_length=1, max_length=63)
    # Of the job; without it that of the job before, or of the run.
    name: str | None = None
    experiment: str | None = Field(default=None, min_length=1, max_length=200)
    # Datasets at other refs, or further ones, as dataset[@ref].
    data: list[str] = Field(default=[], max_length=100)
    # A commit of the project's `.code`, and whether it holds what the run recorded of its code (`git` of the plan).
    code_commit: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    code_is_recorded: bool = False
    # A commit of requirements, and whether those are what the run recorded (`packages` of the plan).
    environment: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    environment_is_recorded: bool = False
    # Plan it, and submit nothing.
    dry_run: bool = False


class RerunPart(Response):
    """One thing that the run was made of. `part`: code, data, environment, image, command, parameter, place, secret,
    mount, model, dependencies or kind.

    `unpinned`: the same in name, but nothing says that it is the same in fact. `gone`: it cannot start without it.
    """

    part: str
    state: PartState
    text: str
    # What to do about it.
    hint: str | None = None


class RerunParam(Response):
    """A parameter of the run and where it is set from outside: argument, variable, or params (MILL_PARAMS)."""

    key: str
    value: object
    place: ParamPlace
    # None if it stays as it was.
    changed_to: str | None = None


class GitCode(Response):
    """Code that only Git has: a client checks it out, applies `diff` and sends it as `code_commit`."""

    url: str
    commit: str
    diff: str
    directory: str


class Rerun(Response):
    """The plan, and the job that was submitted unless it was only planned."""

    # The run that is made again.
    run: str
    can_start: bool
    parts: list[RerunPart]
    params: list[RerunParam]
    # The name that the job gets; null: one is made.
    name: str | None
    # The specification of the job; null if something is gone.
    spec: JobSpec | None
    # What a client must send first, because the server has neither: null and empty for runs of jobs.
    git: GitCode | None = None
    packages: list[str] = []
    job: Job | None = None
