"""Analyses of request logs: drift against a reference, replay on a candidate version."""

from __future__ import annotations

from typing import Literal

from millpond.model.endpoint_analysis import AnalysisState
from millpond.wire.base import Response, Time

DriftLevel = Literal["unknown", "none", "some", "much"]


class DriftColumn(Response):
    """How far the values of a column have moved. `statistic` is D of Kolmogorov and Smirnov, or chi-squared."""

    column: str
    level: DriftLevel
    psi: float
    statistic: float
    p_value: float
    reason: str
    # Whether it moved more than the endpoint allows.
    is_alert: bool


class DriftOfVersion(Response):
    """Of the requests that one version answered: its column that moved most."""

    version: int
    requests: int
    level: DriftLevel
    psi: float
    column: str


class DriftWindow(Response):
    """Requests from `since` up to `until` compared with a reference, those columns first that moved most. `requests`
    and `reference_rows` were compared, of how many there were. `error` says why nothing was compared."""

    id: str
    state: AnalysisState
    since: Time
    until: Time
    reference: str
    created_by: str
    created_at: Time
    ended_at: Time | None
    job: str | None
    run: str | None
    error: str
    alerts: list[str]
    requests: int
    requests_of: int
    reference_rows: int
    reference_rows_of: int
    columns: list[DriftColumn]
    unmatched: list[str]
    versions: list[DriftOfVersion]


class DriftPoint(Response):
    """A window in short: PSI by column."""

    since: Time
    until: Time
    state: AnalysisState
    error: str
    run: str | None
    alerts: int
    psi: dict[str, float]


class EndpointDrift(Response):
    """What the endpoint asks for (`reference` is null if it asks for nothing), its newest window that was compared, the
    one after it that runs or failed, and all windows, newest first."""

    reference: str | None
    window_seconds: int
    every_seconds: int
    psi_max: float
    p_min: float
    experiment: str
    next_at: Time | None
    newest: DriftWindow | None
    pending: DriftWindow | None
    history: list[DriftPoint]
