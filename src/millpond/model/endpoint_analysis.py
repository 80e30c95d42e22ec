"""Analyses of an endpoint's request log, made by jobs: drift against a reference, replay on a candidate version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class AnalysisKind(StrEnum):
    DRIFT = "drift"
    REPLAY = "replay"


class AnalysisState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """One job over the requests of an endpoint from `since` up to `until`. `key` tells it from others of its kind.

    `asked` is what its job was given, `report` what it found: the schema is that of `millpond.serve.monitoring`.
    """

    id: str
    endpoint_id: str
    kind: AnalysisKind
    key: str
    since: datetime
    until: datetime
    created_by: str
    created_at: datetime
    state: AnalysisState = AnalysisState.RUNNING
    job_id: str | None = None
    run_id: str | None = None
    ended_at: datetime | None = None
    error: str = ""
    asked: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    # What is too much, in sentences.
    alerts: tuple[str, ...] = ()
