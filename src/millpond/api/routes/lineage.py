"""Lineage as a graph: data, runs and what they made, around one of them."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, Viewer
from millpond.api.shapes import lineage as shapes
from millpond.errors import Invalid
from millpond.model.lineage import LineageDirection
from millpond.services import lineage_graph as service
from millpond.wire import lineage as wire

router = APIRouter(tags=["lineage"])

_DIRECTIONS = {
    "up": (LineageDirection.UP,),
    "down": (LineageDirection.DOWN,),
    "both": (LineageDirection.UP, LineageDirection.DOWN),
}


@router.get("/projects/{project}/lineage")
def get_lineage_graph(
    scope: Viewer,
    deps: DepsOf,
    commit: Annotated[str | None, Query(max_length=400, description="`dataset[@ref]`.")] = None,
    run: Annotated[str | None, Query(max_length=200, description="Id or name of a run.")] = None,
    job: Annotated[str | None, Query(max_length=200, description="Id, NAME or NAME#N of a job.")] = None,
    direction: Literal["up", "down", "both"] = "both",
    depth: Annotated[int, Query(ge=1, le=service.MOST_DEPTH, description="Maximum number of steps from the root.")] = 4,
    limit: Annotated[int, Query(ge=1, le=service.MOST_NODES, description="Maximum number of nodes.")] = 200,
    width: Annotated[
        int, Query(ge=1, le=service.MOST_WIDTH, description="Maximum number of neighbours of a node on one side.")
    ] = 20,
) -> wire.LineageGraph:
    """Nodes and edges around one commit, run or job, the newest neighbours first.

    `up` leads to what it was made from, `down` to what was made of it. Where neighbours are left out (`depth`, `limit`,
    `width`), their node has `more_up` or `more_down`: ask about that node for them.
    """
    asked = service.GraphAsked(_DIRECTIONS[direction], depth, limit, width)
    match (commit, run, job):
        case (str(), None, None):
            found = service.of_commit(deps, scope.actor, scope.project, commit, asked)
        case (None, str(), None):
            found = service.of_run(deps, scope.actor, scope.project, run, asked)
        case (None, None, str()):
            found = service.of_job(deps, scope.actor, scope.project, job, asked)
        case _:
            raise Invalid(
                "Name one commit, run or job.", hint="Like ?commit=xray@main or ?run=3fa2c1d0.",
                fields=["commit", "run", "job"],
            )  # fmt: skip
    return shapes.graph(found)
