"""Parameters and tags of runs: a row for each key, so that writers of different keys do not meet."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, bindparam, delete, select

from millpond.db.tables import run_param, run_tag
from millpond.model.run import ParamChange, Run

HEAD = 200
_MOST_CHANGES = 20

_UPDATE_PARAM = run_param.update().where(run_param.c.run_id == bindparam("of"), run_param.c.key == bindparam("named"))
_UPDATE_TAG = run_tag.update().where(run_tag.c.run_id == bindparam("of"), run_tag.c.key == bindparam("named"))


def params(
    tx: Connection, run_ids: Collection[str], keys: Collection[str] | None = None
) -> Mapping[str, Mapping[str, Any]]:
    """By run and key: all of them, or these."""
    found: dict[str, dict[str, Any]] = {run_id: {} for run_id in run_ids}
    for row in tx.execute(_chosen(run_param, run_ids, keys)):
        found[row.run_id][row.key] = row.text if row.json is None else json.loads(row.json)
    return found


def tags(
    tx: Connection, run_ids: Collection[str], keys: Collection[str] | None = None
) -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = {run_id: {} for run_id in run_ids}
    for row in tx.execute(_chosen(run_tag, run_ids, keys)):
        found[row.run_id][row.key] = row.text
    return found


def param_changes(tx: Connection, run_id: str) -> Mapping[str, tuple[ParamChange, ...]]:
    """Earlier values of parameters that were changed, oldest first."""
    query = select(run_param.c.key, run_param.c.changes).where(run_param.c.run_id == run_id)
    rows = tx.execute(query.order_by(run_param.c.key))
    return {row.key: tuple(ParamChange(value, until) for value, until in row.changes) for row in rows if row.changes}


def set_params(tx: Connection, run: Run, values: Mapping[str, Any], now: datetime) -> None:
    """Write parameters; one that had another value keeps that among its changes. Only while the run is locked."""
    if not values:
        return
    query = select(run_param).where(run_param.c.run_id == run.id, run_param.c.key.in_(list(values)))
    known = {row.key: row for row in tx.execute(query)}
    fresh, changed = [], []
    for key, value in values.items():
        row, stored = known.get(key), _stored_param(value)
        if row is None:
            fresh.append({"run_id": run.id, "key": key, "project_id": run.project_id, "changes": None, **stored})
        elif (row.text, row.json) != (stored["text"], stored["json"]):
            was = row.text if row.json is None else json.loads(row.json)
            changes = [*(row.changes or ()), [was, now.isoformat()]][-_MOST_CHANGES:]
            changed.append({"of": run.id, "named": key, "changes": changes, **stored})
    if fresh:
        tx.execute(run_param.insert(), fresh)
    if changed:
        tx.execute(_UPDATE_PARAM, changed)


def add_tags(tx: Connection, tagged: Sequence[tuple[Run, Mapping[str, str]]]) -> None:
    """Tags of new runs, which have none yet."""
    rows = [
        {"run_id": run.id, "key": key, "project_id": run.project_id, "text": text, "head": text[:HEAD]}
        for run, values in tagged
        for key, text in values.items()
    ]
    if rows:
        tx.execute(run_tag.insert(), rows)


def set_tags(tx: Connection, run: Run, values: Mapping[str, str]) -> None:
    """Only while the run is locked, or before anybody else can see it."""
    if not values:
        return
    query = select(run_tag.c.key, run_tag.c.text).where(run_tag.c.run_id == run.id, run_tag.c.key.in_(list(values)))
    known: dict[str, str] = {row.key: row.text for row in tx.execute(query)}
    fresh = [
        {"run_id": run.id, "key": key, "project_id": run.project_id, "text": text, "head": text[:HEAD]}
        for key, text in values.items()
        if key not in known
    ]
    changed = [
        {"of": run.id, "named": key, "text": text, "head": text[:HEAD]}
        for key, text in values.items()
        if key in known and known[key] != text
    ]
    if fresh:
        tx.execute(run_tag.insert(), fresh)
    if changed:
        tx.execute(_UPDATE_TAG, changed)


def remove_tags(tx: Connection, run_id: str, keys: Collection[str]) -> None:
    if keys:
        tx.execute(delete(run_tag).where(run_tag.c.run_id == run_id, run_tag.c.key.in_(list(keys))))


def param_text(value: Any) -> str:
    """A value as people write it, and as MLflow's clients would have sent it."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool | int | float):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def number_of(text: str) -> float | None:
    """The finite number that a text reads as."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _stored_param(value: Any) -> dict[str, Any]:
    text = param_text(value)
    return {
        "text": text,
        "json": None if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
        "number": None if isinstance(value, bool) else number_of(text),
        "head": text[:HEAD],
    }


def _chosen(table: Table, run_ids: Collection[str], keys: Collection[str] | None) -> Any:
    query = select(table).where(table.c.run_id.in_(list(run_ids)))
    if keys is not None:
        query = query.where(table.c.key.in_(list(keys)))
    return query.order_by(table.c.run_id, table.c.key)
