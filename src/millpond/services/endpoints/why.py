"""Why an endpoint is as it is: its state, what scaled it, how far its canary is, and what its replicas wait for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import endpoint_analyses
from millpond.db import endpoints as rows
from millpond.model.endpoint import Endpoint, EndpointState, Rollout
from millpond.model.endpoint_analysis import AnalysisKind, AnalysisState
from millpond.model.people import Project
from millpond.model.quantity import format_count, format_seconds
from millpond.model.replica import ReplicaState
from millpond.serve.monitoring.drift import DriftLevel
from millpond.services.deps import Deps
from millpond.services.endpoints.endpoints import find
from millpond.services.endpoints.seen_drift import newest_drift
from millpond.services.endpoints.views import views


@dataclass(frozen=True, slots=True)
class EndpointWhy:
    state: EndpointState
    reasons: tuple[str, ...]


def why(deps: Deps, project: Project, written: str) -> EndpointWhy:
    with deps.db.read() as tx:
        endpoint = find(tx, project, written)
        view = views(tx, [endpoint], deps.clock.now())[0]
        newest = rows.get_revision(tx, endpoint.id, endpoint.number)
        drift = newest_drift(tx, endpoint)
        failed = _failed_drift(tx, endpoint)
    reasons = [*([endpoint.failure] if endpoint.failure else []), *endpoint.reasons]
    for site, count in sorted(endpoint.wanted.items()):
        said = endpoint.scale_reasons.get(site)
        reasons += [f"{site}: {format_count(count, 'replica')}. {said}"] if said else []
    if endpoint.rollout is not None:
        reasons += _rollout(endpoint, endpoint.rollout, deps.clock.now())
    if drift is not None and drift.level is not DriftLevel.NONE:
        reasons.append(drift.reason)
    reasons += failed
    if newest is not None:
        done = f"{newest.action} to {newest.restores}" if newest.restores else newest.action
        because = f": {newest.reason}" if newest.reason else "."
        reasons.append(f"Revision {newest.number} ({done}) by {newest.created_by}{because}")
    waiting = [one for one in view.replicas if one.replica.state is not ReplicaState.READY and one.reason]
    reasons += [f"Replica {one.job_name} is {one.replica.state.value}: {one.reason}" for one in waiting]
    return EndpointWhy(endpoint.state, tuple(dict.fromkeys(reasons)))


def _failed_drift(tx: Connection, endpoint: Endpoint) -> list[str]:
    """Why the newest window could not be compared."""
    newest = endpoint_analyses.page(tx, endpoint.id, AnalysisKind.DRIFT, limit=1) if endpoint.spec.drift else ()
    return [f"Drift is not known: {one.error}" for one in newest if one.state is AnalysisState.FAILED]


def _rollout(endpoint: Endpoint, rollout: Rollout, now: datetime) -> list[str]:
    names = [one.model for one in endpoint.spec.versions]
    share = f"Canary {rollout.canary} has {endpoint.weights[names.index(rollout.canary)]}% of the requests."
    rule = endpoint.spec.rollout
    left = rule.every_seconds - (now - rollout.since).total_seconds() if rule else 0.0
    soon = [f"Its next step is in {format_seconds(left)} at the earliest."] if left > 0 else []
    return [share, *([rollout.reason] if rollout.reason else []), *soon]
