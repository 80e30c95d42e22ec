"""Edges around one commit or run, the newest first, and what is shown of their ends: each read by an index."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, or_, select

from millpond.db.tables import commit, dataset, job, lineage_edge, model_version, project, run
from millpond.model.lineage import LineageEdge, LineageRole, Maker
from millpond.model.lineage_graph import LineageNode, NodeKey, NodeKind

_edge = lineage_edge
_EDGES = select(_edge.c.source_id, _edge.c.made_id, _edge.c.role, _edge.c.maker_kind, _edge.c.maker_id)
_NEWEST = _edge.c.id.desc()
# A job has one run; both stand for the same work.
_WORK = (
    select(
        run.c.id, run.c.name, run.c.state, run.c.started_at, run.c.job_id, run.c.project_id,
        project.c.name.label("project"), job.c.state.label("job_state"),
    )
    .join(project, project.c.id == run.c.project_id)
    .outerjoin(job, job.c.id == run.c.job_id)
)  # fmt: skip
_COMMITS = (
    select(
        commit.c.id, commit.c.message, commit.c.time, dataset.c.name, project.c.name.label("project"),
        model_version.c.number.label("version"),
    )
    .join(dataset, dataset.c.id == commit.c.dataset_id)
    .join(project, project.c.id == dataset.c.project_id)
    .outerjoin(model_version, model_version.c.commit_id == commit.c.id)
)  # fmt: skip


def made_from(tx: Connection, commit_id: str, *, among: Collection[str] | None, limit: int) -> Sequence[LineageEdge]:
    """Edges from this commit on, as far as they lead to projects `among`; None for all."""
    return _edges(tx, _EDGES.where(_edge.c.source_id == commit_id), _edge.c.made_id, among, limit)


def made(tx: Connection, commit_id: str, *, among: Collection[str] | None, limit: int) -> Sequence[LineageEdge]:
    """Edges that say what made this commit."""
    return _edges(tx, _EDGES.where(_edge.c.made_id == commit_id), _edge.c.source_id, among, limit)


def of_work(
    tx: Connection, makers: Collection[Maker], *, made: bool, among: Collection[str] | None, limit: int
) -> Sequence[LineageEdge]:
    """What a run and its job have read, or with `made` what they have made."""
    own = or_(*(and_(_edge.c.maker_id == maker.id, _edge.c.maker_kind == maker.kind) for maker in makers))
    end = _edge.c.made_id if made else _edge.c.source_id
    return _edges(tx, _EDGES.where(own, end.is_not(None)), end, among, limit)


def runs(
    tx: Connection, *, run_ids: Collection[str], job_ids: Collection[str], among: Collection[str] | None
) -> tuple[Mapping[str, LineageNode], Mapping[str, LineageNode]]:
    """Runs as nodes, by their ids and by the ids of their jobs."""
    by_run: dict[str, LineageNode] = {}
    by_job: dict[str, LineageNode] = {}
    for column, wanted in ((run.c.id, run_ids), (run.c.job_id, job_ids)):
        if not wanted:
            continue
        query = _WORK.where(column.in_(list(wanted)))
        if among is not None:
            query = query.where(run.c.project_id.in_(list(among)))
        for row in tx.execute(query):
            node = LineageNode(
                NodeKey(NodeKind.RUN, row.id), project=row.project, name=row.name, job=row.job_id,
                state=row.job_state or row.state, at=row.started_at,
            )  # fmt: skip
            by_run[row.id] = node
            if row.job_id is not None:
                by_job[row.job_id] = node
    return by_run, by_job


def commits(tx: Connection, commit_ids: Collection[str], *, among: Collection[str] | None) -> Mapping[str, LineageNode]:
    """Commits as nodes; one that the lake no longer has by its id alone, and none of other projects."""
    found: dict[str, LineageNode] = {}
    hidden: set[str] = set()
    rows = tx.execute(_COMMITS.add_columns(dataset.c.project_id).where(commit.c.id.in_(list(commit_ids))))
    for row in rows if commit_ids else ():
        if among is not None and row.project_id not in among:
            hidden.add(row.id)
            continue
        found[row.id] = LineageNode(
            NodeKey(NodeKind.COMMIT, row.id), project=row.project, dataset=row.name, version=row.version,
            name=row.message, at=row.time,
        )  # fmt: skip
    gone = {one for one in commit_ids if one not in found and one not in hidden}
    return found | {one: LineageNode(NodeKey(NodeKind.COMMIT, one), is_gone=True) for one in gone}


def _edges(
    tx: Connection, query: Select[Any], end: ColumnElement[Any], among: Collection[str] | None, limit: int
) -> list[LineageEdge]:
    if among is not None:
        query = _visible(query, end, list(among))
    return [
        LineageEdge(row.source_id, row.made_id, LineageRole(row.role), Maker(row.maker_kind, row.maker_id))
        for row in tx.execute(query.order_by(_NEWEST).limit(limit))
    ]


def _visible(query: Select[Any], end: ColumnElement[Any], among: list[str]) -> Select[Any]:
    """Without edges to commits and by makers of other projects: nobody learns that there are any."""
    far, place = commit.alias("far"), dataset.alias("place")
    query = query.outerjoin(far, far.c.id == end).outerjoin(place, place.c.id == far.c.dataset_id)
    query = query.outerjoin(job, and_(_edge.c.maker_kind == "job", job.c.id == _edge.c.maker_id))
    query = query.outerjoin(run, and_(_edge.c.maker_kind == "run", run.c.id == _edge.c.maker_id))
    owners = (place.c.project_id, job.c.project_id, run.c.project_id)
    return query.where(*(or_(owner.is_(None), owner.in_(among)) for owner in owners))
