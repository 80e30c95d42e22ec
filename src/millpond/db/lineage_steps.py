"""What made a commit, and what was made from it: one statement that an index serves, however many edges there are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import CTE, ColumnElement, Connection, Join, Row, Select, Subquery, and_, func, literal, or_, select

from millpond.db.tables import commit, dataset, job, lineage_edge, project, run
from millpond.model.lineage import LineageCommit, LineageDirection, LineageRole, LineageStep, Maker

_edge = lineage_edge
_source, _source_dataset, _source_project = commit.alias("source"), dataset.alias(), project.alias()
_made, _made_dataset, _made_project = commit.alias("made"), dataset.alias(), project.alias()
_maker_project = project.alias()
_maker_project_id = func.coalesce(job.c.project_id, run.c.project_id)
_SHOWN = (
    _source.c.message.label("source_message"),
    _source_dataset.c.name.label("source_dataset"),
    _source_project.c.name.label("source_project"),
    _made.c.message.label("made_message"),
    _made_dataset.c.name.label("made_dataset"),
    _made_project.c.name.label("made_project"),
    func.coalesce(job.c.name, run.c.name).label("maker_name"),
    _maker_project.c.name.label("maker_project"),
)


def steps(
    tx: Connection, commit_id: str, direction: LineageDirection, *, among: Collection[str] | None, depth: int,
    limit: int,
) -> list[LineageStep]:  # fmt: skip
    """Edges from a commit on, the nearest first, at most `depth` commits away; of projects `among`, None meaning all.

    An edge to another project is left out, and so is what lies behind it.
    """
    query = statement(commit_id, direction, among=among, depth=depth).limit(limit)
    return [_step(row) for row in tx.execute(query)]


def statement(
    commit_id: str, direction: LineageDirection, *, among: Collection[str] | None, depth: int
) -> Select[Any]:  # fmt: skip
    up = direction is LineageDirection.UP
    here, there = (_edge.c.made_id, _edge.c.source_id) if up else (_edge.c.source_id, _edge.c.made_id)
    reached = _reached(commit_id, here, there, among, depth)
    walk = (
        select(reached.c.commit_id, func.min(reached.c.depth).label("depth"))
        .group_by(reached.c.commit_id)
        .subquery("walk")
    )
    query = select(walk.c.depth, *_edge.c, *_SHOWN).select_from(_with_ends(walk, here))
    if among is not None:
        # Nobody's: a commit that the lake no longer has, of which nothing is shown but its id.
        shown = (_source_dataset.c.project_id, _made_dataset.c.project_id, _maker_project_id)
        query = query.where(*(or_(project_id.is_(None), project_id.in_(among)) for project_id in shown))
    return query.order_by(walk.c.depth, _edge.c.id)


def _reached(
    commit_id: str, here: ColumnElement[Any], there: ColumnElement[Any], among: Collection[str] | None, depth: int
) -> CTE:
    """The commits to look at, each with how far it is; those of other projects only end a way."""
    reached = select(literal(commit_id).label("commit_id"), literal(0).label("depth")).cte("reached", recursive=True)
    further = select(there, reached.c.depth + 1).join(reached, here == reached.c.commit_id)
    further = further.where(there.is_not(None), reached.c.depth + 1 < depth)
    if among is not None:
        own, place = commit.alias(), dataset.alias()
        further = further.join(own, own.c.id == there).join(place, place.c.id == own.c.dataset_id)
        further = further.where(place.c.project_id.in_(among))
    return reached.union(further)


def _with_ends(walk: Subquery, here: ColumnElement[Any]) -> Join:
    return (
        walk.join(_edge, here == walk.c.commit_id)
        .outerjoin(_source, _source.c.id == _edge.c.source_id)
        .outerjoin(_source_dataset, _source_dataset.c.id == _source.c.dataset_id)
        .outerjoin(_source_project, _source_project.c.id == _source_dataset.c.project_id)
        .outerjoin(_made, _made.c.id == _edge.c.made_id)
        .outerjoin(_made_dataset, _made_dataset.c.id == _made.c.dataset_id)
        .outerjoin(_made_project, _made_project.c.id == _made_dataset.c.project_id)
        .outerjoin(job, and_(_edge.c.maker_kind == "job", job.c.id == _edge.c.maker_id))
        .outerjoin(run, and_(_edge.c.maker_kind == "run", run.c.id == _edge.c.maker_id))
        .outerjoin(_maker_project, _maker_project.c.id == _maker_project_id)
    )


def _step(row: Row[Any]) -> LineageStep:
    return LineageStep(
        depth=row.depth + 1,
        role=LineageRole(row.role),
        source=_end(row.source_id, row.source_project, row.source_dataset, row.source_message),
        made=_end(row.made_id, row.made_project, row.made_dataset, row.made_message),
        maker=Maker(row.maker_kind, row.maker_id),
        maker_name=row.maker_name,
        maker_project=row.maker_project,
    )


def _end(commit_id: str | None, in_project: str | None, named: str | None, message: str | None) -> LineageCommit | None:
    return None if commit_id is None else LineageCommit(commit_id, in_project, named, message)
