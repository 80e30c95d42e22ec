"""Analyses of an endpoint's request log: drift by schedule and on demand, replay on a candidate version."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, Member, Viewer
from millpond.api.shapes import endpoint_analyses as shapes
from millpond.model.endpoint_analysis import AnalysisKind
from millpond.services.endpoints import analyses, drift_watch, replays
from millpond.services.endpoints.replays import ReplayAsked
from millpond.wire import endpoint_analyses as wire

router = APIRouter(tags=["endpoints"])

_ENDPOINT = "/projects/{project}/endpoints/{endpoint}"

Newest = Annotated[int, Query(ge=1, le=500, description="Number of the newest ones to show.")]


@router.get(f"{_ENDPOINT}/drift")
def get_endpoint_drift(endpoint: str, scope: Viewer, deps: DepsOf, limit: Newest = 100) -> wire.EndpointDrift:
    """How far its requests have moved from the reference, window by window."""
    return shapes.drift(drift_watch.overview(deps, scope.project, endpoint, limit=limit))


@router.post(f"{_ENDPOINT}/drift", status_code=202)
def measure_endpoint_drift(endpoint: str, scope: Member, deps: DepsOf) -> wire.EndpointDrift:
    """Compare the requests of a window that ends now, by a job. One that runs already is not started again."""
    drift_watch.measure_now(deps, scope.actor, scope.project, endpoint)
    return shapes.drift(drift_watch.overview(deps, scope.project, endpoint, limit=100))


@router.get(f"{_ENDPOINT}/replays")
def list_endpoint_replays(endpoint: str, scope: Viewer, deps: DepsOf, limit: Newest = 50) -> wire.Replays:
    """Newest first."""
    _, found = analyses.list_analyses(deps, scope.project, endpoint, AnalysisKind.REPLAY, limit=limit)
    return wire.Replays(items=[shapes.replay(one) for one in found])


@router.post(f"{_ENDPOINT}/replays", status_code=202)
def start_endpoint_replay(endpoint: str, body: wire.ReplayStart, scope: Member, deps: DepsOf) -> wire.Replay:
    """Ask a version logged requests again, by a job. The same replay of the same log is not done twice."""
    asked = ReplayAsked(**body.model_dump())
    return shapes.replay(replays.start(deps, scope.actor, scope.project, endpoint, asked))
