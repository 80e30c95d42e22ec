"""What comparisons of an endpoint with a reference found: the newest run of its experiment says it by tags.

People and flows make these runs (client/monitoring/drifting.py); here they have a say about canaries, and are told.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import isfinite

from sqlalchemy import Connection

from millpond.db import run_values, runs
from millpond.db.runs import RunFilter
from millpond.decide.drift import DriftLevel
from millpond.model.endpoint import Endpoint, drift_experiment
from millpond.model.run import RunState

_LOOKED_AT = 20
_TAGS = ("drift", "drift.psi", "drift.column", "drift.version")
_MOVED = (DriftLevel.SOME.value, DriftLevel.MUCH.value)


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


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return 0.0
    return found if isfinite(found) else 0.0
