"""Triggers of flows, what set them off, webhooks and backfills."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from millpond.wire.base import Request, Response, Time


class TriggerFiring(Response):
    """One occurrence of a trigger: `waiting`, `fired`, `skipped` or `refused`, and why. `run` is the id of the run,
    `written` NAME#NUMBER."""

    id: str
    trigger: str
    state: str
    reason: str
    by: str
    commit: str | None = None
    # Commits that a debounce window gathered.
    commits: int = 0
    scheduled_at: Time | None = None
    manual: bool = False
    run: str | None = None
    written: str | None = None
    created_at: Time
    due_at: Time
    ended_at: Time | None = None


class Trigger(Response):
    """A trigger of the newest version of a flow. `problem` says why it does not fire at present; empty if it does."""

    id: str
    flow: str
    position: int
    type: str
    settings: dict[str, Any]
    title: str
    enabled: bool
    problem: str
    run_as: str
    disabled_by: str | None = None
    disabled_at: Time | None = None
    created_at: Time
    # Of a schedule.
    next_at: Time | None = None
    fired_at: Time | None = None
    newest: TriggerFiring | None = None
    # Of a webhook: where it is called.
    url: str | None = None
    has_secret: bool | None = None
    secret_at: Time | None = None


class TriggerList(Response):
    items: list[Trigger]


class ScheduleTimes(Response):
    """The next times of a schedule."""

    times: list[Time]


class TriggerSecret(Response):
    """A new secret, which is shown this once."""

    trigger: Trigger
    secret: str


class TriggerFire(Request):
    """Parameters of the run, as of any run of the flow."""

    params: dict[str, Any] = {}


class HookAnswer(Response):
    """`run` is the id of the run; null while it waits to be started. `written` is NAME#NUMBER."""

    run: str | None
    written: str | None
    state: str
    reason: str = ""
    firing: str


class BackfillCreate(Request):
    """Run a flow for each choice of parameters: a list, or a text like `2026-01-01..2026-01-31`, `1..10` or `a,b`."""

    params: dict[str, Any] = Field(min_length=1)
    version: int | None = Field(default=None, ge=1)
    max_parallel: int = Field(default=4, ge=1, le=1000)
    # Leave out what a run of this version has done, or does.
    skip_done: bool = False


class BackfillPart(Response):
    """One choice of parameters. `state`: planned, skipped, refused, or that of its run."""

    number: int
    params: dict[str, Any]
    state: str
    reason: str = ""
    run: str | None = None
    written: str | None = None


class BackfillPlan(Response):
    """What a backfill would do: parts are planned or skipped."""

    flow: str
    version: int
    parts: list[BackfillPart]
    counts: dict[str, int]


class Backfill(Response):
    """`state`: running, succeeded, failed or cancelled; `reason`: what the next part waits for. `params` are as they
    were given, `counts` by state of parts."""

    id: str
    flow: str
    version: int
    state: str
    reason: str = ""
    params: dict[str, Any]
    max_parallel: int
    counts: dict[str, int]
    created_by: str
    created_at: Time
    ended_at: Time | None = None
    cancelled_by: str | None = None
    # Only of one backfill, not in lists.
    parts: list[BackfillPart] | None = None
