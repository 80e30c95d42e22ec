"""Running a run again: what was recorded of it, what is asked to differ, and what that comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from millpond.model.job import Job
from millpond.model.job_spec import JobInput, JobSpec

# The tag of a run that names the one it was made from.
RERUN_OF = "rerun_of"
# What `inputs` of a run call a commit of the lake that the SDK has read.
INPUT_TYPE = "millpond"


class PartState(Enum):
    SAME = "same"
    CHANGED = "changed"  # as asked, or because it cannot be otherwise
    UNPINNED = "unpinned"  # the same in name; nothing says that it is the same in fact
    GONE = "gone"  # it cannot start without it


@dataclass(frozen=True, slots=True)
class RerunPart:
    """One thing that a run was made of: code, data, environment, command, parameters, resources …"""

    part: str
    state: PartState
    text: str
    # What to do about it.
    hint: str | None = None


class ParamPlace(Enum):
    """Where a parameter can be set from outside."""

    ARGUMENT = "argument"  # in the command
    VARIABLE = "variable"  # in the environment
    PARAMS = "params"  # nowhere: it is handed over in MILL_PARAMS


@dataclass(frozen=True, slots=True)
class RerunParam:
    """A parameter of the run. `changed_to` is None if it stays as it was."""

    key: str
    value: Any
    place: ParamPlace
    changed_to: str | None = None


@dataclass(frozen=True, slots=True)
class RerunAsked:
    """What the new run has otherwise. `code_is_recorded`: `code_commit` holds what the run says of its own code."""

    params: Mapping[str, str] = field(default_factory=dict)
    on: str | None = None
    name: str | None = None
    experiment: str | None = None
    # Datasets at other refs.
    data: tuple[JobInput, ...] = ()
    code_commit: str | None = None
    code_is_recorded: bool = False
    # A commit of requirements to build.
    environment: str | None = None
    environment_is_recorded: bool = False


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run as it was recorded; `job` is None for a script that ran outside of jobs."""

    id: str
    name: str
    experiment: str
    params: Mapping[str, Any]
    origin: Mapping[str, Any]
    inputs: Sequence[Mapping[str, Any]]
    job: Job | None
    # Versions of models that the script of a job has read, as `MODEL@3`.
    models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StillThere:
    """Which of the things that a run names exist, as far as the one who asks may see them."""

    commits: frozenset[str] = frozenset()
    # Commits of datasets in the bin; datasets that exist, by id.
    in_bin: frozenset[str] = frozenset()
    datasets: frozenset[str] = frozenset()
    secrets: frozenset[str] = frozenset()
    mounts: frozenset[str] = frozenset()
    templates: frozenset[str] = frozenset()
    computes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GitCode:
    """The code of a script as Git has it. `diff` is what was not committed; `directory` is where the script started."""

    url: str
    commit: str
    diff: str = ""
    directory: str = ""


@dataclass(frozen=True, slots=True)
class RerunPlan:
    """The job that makes a run again, and how that differs from the run; `spec` is None if something is gone.

    `git` and `packages` are what a client must send first (`code_commit`, `environment`): the server has neither.
    """

    run_id: str
    name: str | None
    parts: tuple[RerunPart, ...]
    params: tuple[RerunParam, ...]
    spec: JobSpec | None = None
    git: GitCode | None = None
    packages: tuple[str, ...] = ()

    @property
    def gone(self) -> tuple[RerunPart, ...]:
        return tuple(part for part in self.parts if part.state is PartState.GONE)
