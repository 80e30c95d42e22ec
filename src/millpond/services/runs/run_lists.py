"""Lists of runs: filtered, sorted and cut into pages by the database; comparisons of a few."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from millpond.db import metrics, run_keys, run_search, run_values, runs
from millpond.db.run_search import Place
from millpond.db.runs import RunFilter
from millpond.decide.run_filter import parse_columns, parse_filter, parse_sort
from millpond.errors import BadRequest
from millpond.model.people import Actor, Project, Role
from millpond.model.run import Run, RunRecord, RunView
from millpond.model.run_keys import RunKeys
from millpond.model.run_query import Attribute, Condition, Field, FieldKind, SortKey
from millpond.services.deps import Deps
from millpond.services.listing import Listing, decode, encode, page_of
from millpond.services.people import access
from millpond.services.time_cursors import moment_of, written_moment

# Keys are looked for in so many runs: enough to choose columns from, and quick however long the list is.
_KEYS_FROM = 500
_NEWEST = (SortKey(Field(FieldKind.ATTRIBUTE, Attribute.STARTED_AT.value), descending=True),)


@dataclass(frozen=True, slots=True)
class RunListAsked:
    """`filter`, `sort` and `columns` are texts (decide/run_filter.py). Without `columns`, all values come along."""

    project: str | None = None
    experiments: Collection[str] | None = None
    parent: str | None = None
    # None: whether in the bin or not.
    deleted: bool | None = False
    filter: str = ""
    sort: str = ""
    columns: str | None = None


def list_runs(
    deps: Deps, actor: Actor, asked: RunListAsked, *, limit: int, cursor: str | None = None
) -> Listing[RunView]:
    """Of one project or of all the actor may see; newest first unless `sort` says otherwise."""
    where, sort = parse_filter(asked.filter), parse_sort(asked.sort)
    columns = None if asked.columns is None else parse_columns(asked.columns)
    with deps.db.read() as tx:
        found = _page(tx, narrowed(tx, actor, asked), where, sort, limit, cursor)
        return Listing(_views(tx, found.items, columns), found.next)


def records(deps: Deps, found: Sequence[RunView]) -> Mapping[str, RunRecord]:
    """Notes, inputs and outputs of listed runs, by id."""
    with deps.db.read() as tx:
        return runs.records(tx, [view.run.id for view in found])


def keys(deps: Deps, actor: Actor, asked: RunListAsked) -> RunKeys:
    """Of the newest runs of a list."""
    with deps.db.read() as tx:
        found = runs.page(tx, narrowed(tx, actor, asked), limit=_KEYS_FROM)
        ids = [run.id for run in found]
        return RunKeys(
            runs=len(ids),
            params=run_keys.param_keys(tx, ids),
            metrics=run_keys.metric_keys(tx, ids),
            tags=run_keys.tag_keys(tx, ids),
            experiments=sorted({run.experiment for run in found}),
            users=sorted({run.created_by for run in found}),
        )


def compared(deps: Deps, actor: Actor, project: Project, run_ids: Sequence[str]) -> Sequence[RunView]:
    """These runs with all their values, in this order; NotFound names the first that is not there."""
    wanted = list(dict.fromkeys(run_ids))
    with deps.db.read() as tx:
        found = {run.id: run for run in runs.of_project(tx, project.id, wanted)}
        for run_id in wanted:
            if run_id not in found:
                raise access.not_found("run", run_id, runs.ids(tx, project.id))
        return _views(tx, [found[run_id] for run_id in wanted], None)


def narrowed(tx: Connection, actor: Actor, asked: RunListAsked) -> RunFilter:
    """To a project, or to those that the actor may see."""
    among = (
        [access.find_project(tx, actor, asked.project, Role.VIEWER).id]
        if asked.project
        else access.visible_projects(actor)
    )
    return RunFilter(projects=among, experiments=asked.experiments, parent=asked.parent, deleted=asked.deleted)


def _page(
    tx: Connection, chosen: RunFilter, where: Condition, sort: Sequence[SortKey], limit: int, cursor: str | None
) -> Listing[Run]:
    if not sort or tuple(sort) == _NEWEST:
        found = run_search.newest(tx, chosen, where, limit=limit + 1, before=moment_of(cursor))
        return page_of(found, limit, key=lambda run: written_moment(run.started_at, run.id))
    items, place = run_search.in_order(tx, chosen, where, sort, limit=limit, at=_place(cursor))
    return Listing(items, encode([int(place.valued), place.offset]) if place else None)


def _place(cursor: str | None) -> Place:
    if cursor is None:
        return Place()
    match decode(cursor):
        case [int(valued), int(offset)] if valued in (0, 1) and 0 <= offset < 1 << 62:
            return Place(bool(valued), offset)
    raise BadRequest(f"{cursor[:80]!r} is not a cursor.", hint="Use `next` of the previous page, or leave it out.")


def _views(tx: Connection, found: Sequence[Run], columns: Sequence[Field] | None) -> Sequence[RunView]:
    ids = [run.id for run in found]
    params = _values(run_values.params, tx, ids, _keys(columns, FieldKind.PARAM))
    tags = _values(run_values.tags, tx, ids, _keys(columns, FieldKind.TAG))
    newest = _values(metrics.summaries, tx, ids, _keys(columns, FieldKind.METRIC))
    return [RunView(run, params.get(run.id, {}), tags.get(run.id, {}), newest.get(run.id, {})) for run in found]


def _keys(columns: Sequence[Field] | None, kind: FieldKind) -> Collection[str] | None:
    """None for all."""
    return None if columns is None else {field.key for field in columns if field.kind is kind}


def _values(read: Any, tx: Connection, ids: Sequence[str], keys: Collection[str] | None) -> Mapping[str, Any]:
    if not ids or (keys is not None and not keys):
        return {}
    found: Mapping[str, Any] = read(tx, ids, keys)
    return found
