"""Triggers of flows as they are kept, what set them off, and backfills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any


class TriggerType(Enum):
    COMMIT = "commit"
    CRON = "cron"
    WEBHOOK = "webhook"
    FLOW = "flow"


class Missed(Enum):
    """What becomes of times of a schedule at which no server was there."""

    ONCE = "once"  # one run for all of them
    SKIP = "skip"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of a dataset, by names within a project."""

    project_id: str
    dataset: str
    branch: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SavedTrigger:
    """A trigger of the newest version of a flow. It keeps its id and state while newer versions have it, too."""

    id: str
    project_id: str
    flow_id: str
    flow: str
    # Its place in the file, from 1.
    position: int
    type: TriggerType
    settings: Mapping[str, Any]
    # Of a commit trigger: what it watches. Of a flow trigger: the other flow.
    watched: Branch | None = None
    upstream: str | None = None
    created_at: datetime
    disabled_at: datetime | None = None
    disabled_by: str | None = None
    # Why the server disabled it; empty if somebody did.
    disabled_reason: str = ""
    # Of a webhook: sealed.
    secret: bytes | None = None
    secret_at: datetime | None = None
    # Of a commit trigger: the newest commit that was looked at.
    seen: str | None = None
    # Of a schedule: the next time.
    next_at: datetime | None = None
    fired_at: datetime | None = None

    @property
    def is_enabled(self) -> bool:
        return self.disabled_at is None


class FiringState(Enum):
    WAITING = "waiting"  # for the end of a debounce window, or about to start a run
    FIRED = "fired"
    SKIPPED = "skipped"
    REFUSED = "refused"


@dataclass(frozen=True, kw_only=True, slots=True)
class Firing:
    """One occurrence of a trigger: a commit, a due time, a call, the end of a run. `occurrence` is unique for each."""

    id: str
    trigger_id: str
    flow_id: str
    project_id: str
    occurrence: str
    state: FiringState = FiringState.WAITING
    reason: str = ""
    # What set it off, in words: `xray@main`, `retrain`, `ingest#4`.
    by: str = ""
    # Of a commit: it, the one before, and how many there were in the window.
    commit: str | None = None
    base: str | None = None
    commits: int = 0
    scheduled_at: datetime | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    # True if somebody asked for it: then a disabled trigger fires, too.
    manual: bool = False
    run_id: str | None = None
    run_number: int | None = None
    # Starts that failed for a reason nobody expected.
    tries: int = 0
    created_at: datetime
    # When a waiting one may start.
    due_at: datetime
    ended_at: datetime | None = None


class BackfillPartState(Enum):
    PLANNED = "planned"
    STARTED = "started"
    SKIPPED = "skipped"  # done before, or cancelled
    REFUSED = "refused"


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillPart:
    """One choice of parameters of a backfill, and the run of it."""

    backfill_id: str
    number: int
    params: Mapping[str, Any]
    state: BackfillPartState = BackfillPartState.PLANNED
    reason: str = ""
    run_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Backfill:
    """Runs of one version of a flow over many values of its parameters."""

    id: str
    project_id: str
    flow_id: str
    flow: str
    version: int
    # As they were written: a range, a list, or one value.
    given: Mapping[str, Any]
    max_parallel: int
    created_by: str
    created_at: datetime
    cancelled_by: str | None = None
    ended_at: datetime | None = None
