"""Lineage of commits, over the API."""

from __future__ import annotations

from millpond.client.credentials import resolve_target
from millpond.client.http import Api, segment
from millpond.client.paths import commit_path
from millpond.model.lineage import LineageDirection
from millpond.wire.lineage import Lineage, LineageGraph


def get_graph(
    api: Api, project: str, *, commit: str | None = None, run: str | None = None, job: str | None = None,
    direction: str = "both", depth: int | None = None, limit: int | None = None, width: int | None = None,
) -> LineageGraph:  # fmt: skip
    """Nodes and edges around one commit (`dataset@ref`), run or job."""
    return api.get(
        f"/projects/{segment(project)}/lineage", LineageGraph, commit=commit, run=run, job=job, direction=direction,
        depth=depth, limit=limit, width=width,
    )  # fmt: skip


def lineage(
    commit: str | None = None,
    *,
    run: str | None = None,
    job: str | None = None,
    direction: str = "both",
    depth: int = 4,
    limit: int = 200,
    project: str | None = None,
    server: str | None = None,
) -> LineageGraph:
    """The graph around a commit (`dataset@ref`), a run or a job: what it was made from, and what was made of it.

    `direction`: up, down or both. `depth` counts steps, from a commit to a run and from a run to a commit. A node
    with `more_up` or `more_down` has neighbours that are not shown: ask about it.
    """
    target = resolve_target(server, project)
    with Api(target.server, target.token) as api:
        return get_graph(
            api, target.project, commit=commit, run=run, job=job, direction=direction, depth=depth, limit=limit
        )


def get_lineage(
    api: Api, project: str, dataset: str, ref: str, direction: LineageDirection, *, depth: int | None = None,
    limit: int | None = None,
) -> Lineage:  # fmt: skip
    """What made a commit (up), or what was made from it (down)."""
    path = f"{commit_path(project, dataset, ref)}/lineage"
    return api.get(path, Lineage, direction=direction.value, depth=depth, limit=limit)
