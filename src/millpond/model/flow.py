"""Flows: a versioned graph of steps, as written in `flow.yaml`. `decide/flows` reads and checks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

FLOW_SCHEMA = "millpond.flow/1"
COMPONENT_SCHEMA = "millpond.component/1"

# Passed on as JSON; the others are commits of the lake.
VALUE_TYPES = frozenset({"int", "float", "bool", "str", "enum", "list", "json"})
COMMIT_TYPES = frozenset({"file", "directory", "table", "image-folder", "model", "metrics"})
# A parameter that names a secret of the project; the step finds its value in the variable of that name.
SECRET = "secret"
# What fits where a directory is wanted.
_DIRECTORIES = frozenset({"directory", "table", "image-folder", "model"})


def fits(given: str, wanted: str) -> bool:
    """True if a value or commit of type `given` may stand where `wanted` is asked for."""
    if given == wanted or wanted == "json":
        return given in VALUE_TYPES or given == wanted
    if wanted == "directory":
        return given in _DIRECTORIES
    return (given, wanted) in {("int", "float"), ("enum", "str"), ("str", "enum"), ("dataset", "str"), ("str", SECRET)}


class Cached(Enum):
    """Where the data of a dataset node lies when a step reads it."""

    YES = "yes"  # cached before the step starts
    NEAR = "near"  # cached where the step is placed
    NO = "no"  # read from the lake, nothing is filled


@dataclass(frozen=True, slots=True)
class Param:
    """A typed parameter of a flow or a component: one field of a form."""

    name: str
    type: str
    default: Any = None
    has_default: bool = False
    optional: bool = False
    min: float | None = None
    max: float | None = None
    exclusive_min: bool = False
    choices: tuple[Any, ...] = ()
    help: str = ""
    scale: str = "linear"

    @property
    def is_required(self) -> bool:
        return not (self.has_default or self.optional)


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a step."""

    name: str
    type: str = "directory"
    required: bool = True
    help: str = ""


@dataclass(frozen=True, slots=True)
class FlowRetries:
    count: int = 0
    # Endings that are retried, as of jobs (decide/retry.py); none: the job's default.
    endings: tuple[str, ...] = ()
    backoff_seconds: int = 5


@dataclass(frozen=True, slots=True)
class Approval:
    """A gate: the run waits until somebody with the role approves or rejects."""

    role: str = "admin"
    message: str = ""
    timeout_seconds: int = 0


class StepKind(Enum):
    DATASET = "dataset"
    COMPONENT = "component"
    COMMAND = "command"
    APPROVAL = "approval"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One node of the graph. Texts may hold references (`${…}`); `decide/flows/expressions.py` reads them."""

    name: str
    kind: StepKind
    # A dataset node.
    dataset: str | None = None
    cached: Cached = Cached.NEAR
    # A component of the library, or a command of its own.
    component: str | None = None
    command: tuple[str, ...] = ()
    code: str | None = None
    environment: str | None = None
    image: str | None = None
    # Where it runs: templates tried in turn, or a queue of them; neither: the project's default.
    templates: tuple[str, ...] = ()
    queue: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    optional_inputs: frozenset[str] = frozenset()
    params: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[str, Port] = field(default_factory=dict)
    # A list or a grid to run it over: lists by key, or one reference to a list.
    each: Mapping[str, Any] | str | None = None
    after: tuple[str, ...] = ()
    when: str | None = None
    approval: Approval | None = None
    retries: FlowRetries | None = None
    timeout_seconds: int | None = None
    priority: int | None = None
    remember: bool | None = None


@dataclass(frozen=True, slots=True)
class FlowDefaults:
    retries: FlowRetries = FlowRetries()
    timeout_seconds: int = 0
    remember: bool = True
    priority: int = 0


class WhenBusy(Enum):
    QUEUE = "queue"
    SKIP = "skip"
    CANCEL_RUNNING = "cancel-running"


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How many runs of the flow go on at once, and what becomes of one more."""

    limit: int = 0  # 0: no limit
    then: WhenBusy = WhenBusy.QUEUE


@dataclass(frozen=True, slots=True)
class Publication:
    """An output that becomes a commit of a branch after the run."""

    output: str
    to: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """What starts a run by itself. `settings` are those of its type."""

    type: str  # commit | cron | webhook | flow
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Flow:
    name: str
    description: str = ""
    params: Mapping[str, Param] = field(default_factory=dict)
    defaults: FlowDefaults = FlowDefaults()
    concurrency: Concurrency = Concurrency()
    max_parallel: int = 0  # 0: no limit
    continue_on_failure: bool = False
    steps: Mapping[str, Step] = field(default_factory=dict)
    publish: tuple[Publication, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    run_as: str = "me"
    # Positions on the page; no part of what the flow does.
    ui: Mapping[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlowProblem:
    """What is wrong with a flow, where it stands, and what to do."""

    line: int
    column: int
    path: str
    code: str
    message: str
    hint: str = ""
