"""Groups of runs over a whole list: how many runs have each value, and the metrics of each group."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.db import run_groups
from millpond.db.run_values import HEAD
from millpond.decide.run_filter import parse_columns, parse_filter, parse_group
from millpond.errors import BadRequest
from millpond.model.people import Actor
from millpond.model.run_groups import Aggregate, RunGroup
from millpond.model.run_query import Field, FieldKind, written_text
from millpond.services.deps import Deps
from millpond.services.listing import Listing, encode, number_of
from millpond.services.runs.run_lists import RunListAsked, narrowed

_MOST_COLUMNS = 50


def group_runs(
    deps: Deps, actor: Actor, asked: RunListAsked, by: str | None, *, limit: int, cursor: str | None = None
) -> Listing[RunGroup]:
    """The largest groups first. Without `by`, the whole list is one group. Of `columns`, metrics are summed up."""
    where, field = parse_filter(asked.filter), parse_group(by) if by else None
    columns = [column for column in parse_columns(asked.columns or "") if column.kind is FieldKind.METRIC]
    if len(columns) > _MOST_COLUMNS:
        raise BadRequest(f"At most {_MOST_COLUMNS} metrics can be summed up at once.")
    offset = number_of(cursor) or 0
    with deps.db.read() as tx:
        chosen = narrowed(tx, actor, asked)
        found = run_groups.counted(tx, chosen, where, field, limit=limit + 1, offset=offset)
        shown = found[:limit]
        values = [value for value, _ in shown]
        sums = {
            column.written: run_groups.aggregated(tx, chosen, where, field, values, column)
            for column in dict.fromkeys(columns)
        }
    groups = [RunGroup(value, runs, _condition(field, value), _of(sums, value)) for value, runs in shown]
    return Listing(groups, encode(offset + limit) if len(found) > limit else None)


def _of(sums: Mapping[str, Mapping[str | None, Aggregate]], value: str | None) -> dict[str, Aggregate]:
    return {column: groups[value] for column, groups in sums.items() if value in groups}


def _condition(by: Field | None, value: str | None) -> str | None:
    """None for all runs, and for a value of which only the beginning is known."""
    if by is None or (by.kind is not FieldKind.ATTRIBUTE and value is not None and len(value) >= HEAD):
        return None
    return f"{by.written} is null" if value is None else f"{by.written} = {written_text(value)}"
