"""Analyses of an endpoint's request log: drift by schedule and on demand."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, Member, Viewer
from millpond.api.shapes import endpoint_analyses as shapes
from millpond.services.endpoints import drift_watch
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
