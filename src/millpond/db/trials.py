"""Trials of searches. They change only while the row of their search is locked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import Connection, func, select, tuple_

from millpond.db.tables import trial
from millpond.model.search import Trial, TrialState

# What trials are sorted by.
SortColumn = Literal["number", "state", "params", "value_list"]


def insert(tx: Connection, values: Sequence[Trial]) -> None:
    if values:
        tx.execute(trial.insert(), [_values(value) for value in values])


def save(tx: Connection, value: Trial) -> None:
    of = (trial.c.search_id == value.search_id) & (trial.c.number == value.number)
    tx.execute(trial.update().where(of).values(**_values(value)))


def take(tx: Connection, value: Trial, *, job_id: str, run_id: str) -> bool:
    """Give a waiting trial its job; False if it is not waiting any more."""
    of = (trial.c.search_id == value.search_id) & (trial.c.number == value.number)
    waiting = trial.c.state == TrialState.WAITING.value
    taken = trial.update().where(of, waiting).values(state=TrialState.RUNNING.value, job_id=job_id, run_id=run_id)
    return bool(tx.execute(taken).rowcount)


def of_search(tx: Connection, search_id: str, state: TrialState | None = None) -> list[Trial]:
    """By number: all, or those in a state."""
    query = select(trial).where(trial.c.search_id == search_id)
    if state is not None:
        query = query.where(trial.c.state == state.value)
    return [_trial(row) for row in tx.execute(query.order_by(trial.c.number))]


def sort_keys(
    tx: Connection, search_id: str, column: SortColumn, states: Collection[TrialState] | None = None
) -> Sequence[tuple[int, Any]]:
    """The number of each trial and what that column holds, by number: enough to sort many and load few."""
    query = select(trial.c.number, trial.c[column]).where(trial.c.search_id == search_id)
    if states is not None:
        query = query.where(trial.c.state.in_([state.value for state in states]))
    return [(number, value) for number, value in tx.execute(query.order_by(trial.c.number))]


def some(tx: Connection, search_id: str, numbers: Sequence[int]) -> list[Trial]:
    """Those of these numbers, in the order asked."""
    query = select(trial).where(trial.c.search_id == search_id, trial.c.number.in_(numbers))
    found = {row.number: _trial(row) for row in tx.execute(query)}
    return [found[number] for number in numbers if number in found]


def get(tx: Connection, search_id: str, number: int) -> Trial | None:
    row = tx.execute(select(trial).where(trial.c.search_id == search_id, trial.c.number == number)).first()
    return _trial(row) if row else None


def counts(tx: Connection, search_ids: Collection[str]) -> Mapping[str, Counter[TrialState]]:
    """By search and state."""
    found: dict[str, Counter[TrialState]] = {search_id: Counter() for search_id in search_ids}
    query = select(trial.c.search_id, trial.c.state, func.count()).where(trial.c.search_id.in_(list(search_ids)))
    for search_id, state, count in tx.execute(query.group_by(trial.c.search_id, trial.c.state)):
        found[search_id][TrialState(state)] = count
    return found


def numbered(tx: Connection, wanted: Mapping[str, Sequence[int]]) -> Mapping[str, tuple[Trial, ...]]:
    """By search: the trials of these numbers, in the order asked."""
    keys = [(search_id, number) for search_id, numbers in wanted.items() for number in numbers]
    query = select(trial).where(tuple_(trial.c.search_id, trial.c.number).in_(keys))
    found = {(row.search_id, row.number): _trial(row) for row in tx.execute(query)} if keys else {}
    return {
        search_id: tuple(found[search_id, number] for number in numbers if (search_id, number) in found)
        for search_id, numbers in wanted.items()
    }


def _trial(row: Sequence[Any]) -> Trial:
    # All at once, in the order of the table: asking each row for its columns by name is felt with thousands.
    search_id, number, params, created_at, state, job_id, run_id, values, rungs, problem, ended_at, is_settled = row
    return Trial(
        search_id, number, params, created_at, state=TrialState(state), job_id=job_id, run_id=run_id,
        values=tuple(values), rungs=tuple(rungs), problem=problem, ended_at=ended_at, is_settled=is_settled,
    )  # fmt: skip


def _values(value: Trial) -> dict[str, Any]:
    return {
        "search_id": value.search_id,
        "number": value.number,
        "params": dict(value.params),
        "created_at": value.created_at,
        "state": value.state.value,
        "job_id": value.job_id,
        "run_id": value.run_id,
        "value_list": list(value.values),
        "rungs": list(value.rungs),
        "problem": value.problem,
        "ended_at": value.ended_at,
        "is_settled": value.is_settled,
    }
