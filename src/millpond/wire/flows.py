"""Flows, their versions and runs, and components of the library."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from millpond.wire.base import Request, Response, Time
from millpond.wire.jobs import Ledger


class FlowProblem(Response):
    """What is wrong with a flow. Lines and columns count from 1."""

    line: int
    column: int
    path: str
    code: str
    message: str
    hint: str = ""


class FlowProblems(Response):
    problems: list[FlowProblem]


class FlowTrigger(Response):
    """What started a run. `id` is the trigger, `backfill` the backfill that it belongs to."""

    type: str
    by: str
    commit: str | None = None
    scheduled_at: Time | None = None
    id: str | None = None
    backfill: str | None = None


class FlowRunSummary(Response):
    """A run in a list. `written` is NAME#NUMBER."""

    id: str
    flow: str
    number: int
    written: str
    version: int
    state: str
    reason: str
    trigger: FlowTrigger
    params: dict[str, Any]
    created_by: str
    run_as: str
    created_at: Time
    started_at: Time | None
    ended_at: Time | None


class Flow(Response):
    """A flow at one of its versions. `text` is its YAML, `document` what that says, `files` what lies beside it."""

    id: str
    project: str
    name: str
    description: str
    version: int
    newest: int
    digest: str
    commit: str
    saved_by: str
    saved_at: Time
    created_by: str
    created_at: Time
    steps: int
    newest_run: FlowRunSummary | None = None
    text: str | None = None
    document: dict[str, Any] | None = None
    files: list[str] | None = None
    # After saving: False if the newest version was the same.
    is_new: bool | None = None


class FlowVersion(Response):
    version: int
    digest: str
    commit: str
    steps: int
    saved_by: str
    saved_at: Time


class FlowVersionList(Response):
    items: list[FlowVersion]


class FlowRunCreate(Request):
    """Start a run. `params`: values by name, or by STEP.NAME for one step; texts are read as what they stand for."""

    model_config = ConfigDict(validate_by_alias=True, validate_by_name=True, serialize_by_alias=True)

    version: int | None = Field(default=None, ge=1)
    params: dict[str, Any] = {}
    on: str | None = Field(default=None, max_length=63)
    from_step: str | None = Field(default=None, alias="from", max_length=63)
    only: str | None = Field(default=None, max_length=63)
    remember: bool = True


class FlowRetry(Request):
    """Without `from`: the steps that did not succeed."""

    model_config = ConfigDict(validate_by_alias=True, validate_by_name=True, serialize_by_alias=True)

    from_step: str | None = Field(default=None, alias="from", max_length=63)


class FlowAnswer(Request):
    comment: str = Field(default="", max_length=500)


class FlowStep(Response):
    """One execution of a step. Files are written `project/dataset@COMMIT:path`."""

    name: str
    index: int | None
    kind: str
    state: str
    reason: str
    each: dict[str, Any] = {}
    params: dict[str, Any] = {}
    inputs: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    job: str | None = None
    run: str | None = None
    component: str | None = None
    digest: str | None = None
    template: str | None = None
    site: str | None = None
    compute: str | None = None
    node: str | None = None
    remembered_from: str | None = None
    ledger: Ledger | None = None
    attempts: int = 0
    progress: float | None = None
    ready_at: Time | None = None
    started_at: Time | None = None
    ended_at: Time | None = None
    expires_at: Time | None = None


class FlowRun(FlowRunSummary):
    """A run with all its steps. `text` is the flow as it was saved."""

    project: str
    options: dict[str, Any] = {}
    published: dict[str, str] = {}
    cancelled_by: str | None = None
    steps: list[FlowStep]
    text: str = ""


class ComponentParam(Response):
    name: str
    type: str
    default: Any = None
    required: bool
    min: float | None = None
    max: float | None = None
    exclusive_min: bool = False
    choices: list[Any] = []
    help: str = ""
    scale: str = "linear"


class ComponentPort(Response):
    name: str
    type: str
    required: bool
    help: str = ""


class LibraryComponent(Response):
    """A component of the library; `readme` only when one is asked for."""

    name: str
    version: str
    title: str
    category: str
    description: str
    origin: str
    checkpoint: bool
    remember: bool
    params: list[ComponentParam]
    inputs: list[ComponentPort]
    outputs: list[ComponentPort]
    readme: str | None = None


class Library(Response):
    items: list[LibraryComponent]
