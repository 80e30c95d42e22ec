"""What was measured of model servers, as tables."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, Viewer
from millpond.api.shapes import mlperf as shapes
from millpond.services.runs.mlperf import mlperf_tables
from millpond.wire import mlperf as wire

router = APIRouter(tags=["runs"])


@router.get("/projects/{project}/mlperf")
def get_mlperf(scope: Viewer, deps: DepsOf) -> wire.MlperfTables:
    """The newest result of each task, scenario and set-up (`mill perf mlperf`), as the tables of TR-4886."""
    return shapes.tables(mlperf_tables(deps, scope.actor, scope.project))
