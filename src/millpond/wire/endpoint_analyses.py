"""Analyses of request logs: drift against a reference, replay on a candidate version."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from millpond.model.endpoint_analysis import AnalysisState
from millpond.model.quantity import DAY
from millpond.wire.base import Request, Response, Time

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


class ReplayStart(Request):
    """Ask a version (NAME@VERSION) the newest requests again; `version` chooses those that this one answered."""

    model: Annotated[str, Field(min_length=1, max_length=400)]
    since_seconds: Annotated[int, Field(ge=60, le=3650 * DAY)] = DAY
    version: Annotated[int, Field(ge=1)] | None = None
    limit: Annotated[int, Field(ge=1, le=20_000)] = 1000
    # The template or queue that its job runs on, and the site.
    on: Annotated[str, Field(min_length=1, max_length=639)] | None = None
    site: Annotated[str, Field(min_length=1, max_length=63)] | None = None


class Replay(Response):
    """Requests from `since` up to `until` asked again of a version. `requests` were asked `of` those logged, `skipped`
    were not logged whole, `failed` got no answer. `ms` is the median inside the job, `logged_ms` that at the router
    then. `different` are the ids of the first requests whose answers differ."""

    id: str
    state: AnalysisState
    model: str
    version: int | None
    limit: int
    since: Time
    until: Time
    created_by: str
    created_at: Time
    ended_at: Time | None
    job: str | None
    run: str | None
    error: str
    of: int
    requests: int
    skipped: int
    failed: int
    failure: str
    samples: int
    agreement: float | None
    largest_difference: float
    ms: float | None
    logged_ms: float | None
    different: list[str]


class Replays(Response):
    """Newest first."""

    items: list[Replay]
