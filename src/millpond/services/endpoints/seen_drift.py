"""What comparisons of an endpoint with a reference found: the newest run of its experiment says it by tags.

The server makes these runs by schedule (drift_watch.py), people and flows besides (client/monitoring/drifting.py). Here
they have a say about canaries, and are told.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import isfinite

from sqlalchemy import Connection

from millpond.db import endpoint_analyses, run_values, runs
from millpond.db.runs import RunFilter
from millpond.decide.endpoints.analyses import worst
from millpond.model.endpoint import Endpoint, drift_experiment
from millpond.model.endpoint_analysis import AnalysisKind, AnalysisState
from millpond.model.quantity import format_count
from millpond.model.run import RunState
from millpond.serve.monitoring.drift import DriftLevel

_LOOKED_AT = 20
_TAGS = ("drift", "drift.psi", "drift.column", "drift.version")
_MOVED = (DriftLevel.SOME.value, DriftLevel.MUCH.value)
# Columns that are named in a list of reasons; the rest are counted.
_TOLD = 3


@dataclass(frozen=True, slots=True)
class SeenDrift:
    """`psi` is that of the column that moved most, and 0 where chance explains it."""

    run_id: str
    at: datetime
    level: DriftLevel
    psi: float
    column: str

    @property
    def reason(self) -> str:
        return f"Drift of {self.column}: PSI {self.psi:.2f} ({self.level.value}), see run {self.run_id}."


def newest_drift(
    tx: Connection, endpoint: Endpoint, *, version: int | None = None, since: datetime | None = None
) -> SeenDrift | None:
    """Of all requests, or of those that one version answered; None if nothing was compared since then."""
    found = [_in_runs(tx, endpoint, version, since)]
    if version is not None:
        found.append(_in_analyses(tx, endpoint, version, since))
    return max((one for one in found if one is not None), key=lambda one: one.at, default=None)


def drift_reasons(tx: Connection, endpoint: Endpoint) -> tuple[str, ...]:
    """What the state of an endpoint says of drift: the alerts of its newest window, or much drift that somebody found
    since. Of less only `mill why` tells: that is worth a look, not a word in every list."""
    drift = newest_drift(tx, endpoint)
    last = None
    if endpoint.spec.drift is not None:
        last = endpoint_analyses.newest(tx, [endpoint.id], AnalysisKind.DRIFT).get(endpoint.id)
    if last is not None and (drift is None or drift.at <= last.created_at):
        more = len(last.alerts) - _TOLD
        return (*last.alerts[:_TOLD], *([f"{format_count(more, 'more column')} moved too much."] if more > 0 else []))
    return (drift.reason,) if drift is not None and drift.level is DriftLevel.MUCH else ()


def _in_runs(tx: Connection, endpoint: Endpoint, version: int | None, since: datetime | None) -> SeenDrift | None:
    chosen = RunFilter(projects=[endpoint.project_id], experiments=[drift_experiment(endpoint.name)])
    found = [one for one in runs.page(tx, chosen, limit=_LOOKED_AT) if one.state is RunState.SUCCEEDED]
    tags = run_values.tags(tx, [one.id for one in found], _TAGS)
    wanted = "all" if version is None else str(version)
    for one in found:
        told = tags[one.id]
        is_asked = told.get("drift.version", "all") == wanted and (since is None or one.started_at >= since)
        if is_asked and told.get("drift") in (*_MOVED, DriftLevel.NONE.value):
            level, psi = DriftLevel(told["drift"]), _number(told.get("drift.psi", ""))
            return SeenDrift(one.id, one.started_at, level, psi, told.get("drift.column", "")[:200])
    return None


def _in_analyses(tx: Connection, endpoint: Endpoint, version: int, since: datetime | None) -> SeenDrift | None:
    """Each window is also compared by version, without a run for each."""
    found = endpoint_analyses.page(
        tx, endpoint.id, AnalysisKind.DRIFT, state=AnalysisState.DONE, limit=_LOOKED_AT
    )  # fmt: skip
    for one in found:
        level, psi, column = worst(one.report, version)
        if level is not DriftLevel.UNKNOWN and (since is None or one.created_at >= since):
            return SeenDrift(one.run_id or "", one.created_at, level, psi, column)
    return None


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if isfinite(found) else 0.0
