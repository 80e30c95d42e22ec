"""Backfills of flows and their parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, tuple_

from millpond.db.batches import batches
from millpond.db.tables import flow, flow_backfill, flow_backfill_part, flow_run
from millpond.model.flow_run import FlowRunPhase
from millpond.model.flow_trigger import Backfill, BackfillPart, BackfillPartState

_BACKFILLS = select(flow_backfill, flow.c.name.label("flow")).join(flow, flow.c.id == flow_backfill.c.flow_id)
_FIELDS = tuple(one.name for one in fields(Backfill))
_PART_FIELDS = tuple(one.name for one in fields(BackfillPart))


def insert(tx: Connection, value: Backfill, parts: Iterable[BackfillPart]) -> None:
    tx.execute(flow_backfill.insert().values(**_values(value)))
    for batch in batches([_part_values(part) for part in parts], 500):
        tx.execute(flow_backfill_part.insert(), batch)


def save(tx: Connection, value: Backfill) -> None:
    """Only for one read by `lock` in the same transaction."""
    tx.execute(flow_backfill.update().where(flow_backfill.c.id == value.id).values(**_values(value)))


def get(tx: Connection, backfill_id: str) -> Backfill | None:
    row = tx.execute(_BACKFILLS.where(flow_backfill.c.id == backfill_id)).first()
    return _backfill(row) if row else None


def lock(tx: Connection, backfill_id: str) -> Backfill | None:
    query = _BACKFILLS.where(flow_backfill.c.id == backfill_id).with_for_update(of=flow_backfill)
    row = tx.execute(query).first()
    return _backfill(row) if row else None


def living(tx: Connection) -> Sequence[Backfill]:
    """The oldest first."""
    query = _BACKFILLS.where(flow_backfill.c.ended_at.is_(None))
    return [_backfill(row) for row in tx.execute(query.order_by(flow_backfill.c.created_at, flow_backfill.c.id))]


def page(
    tx: Connection, project_id: str, *, flow_id: str | None, limit: int, before: tuple[datetime, str] | None = None
) -> Sequence[Backfill]:
    """Newest first."""
    query = _BACKFILLS.where(flow_backfill.c.project_id == project_id)
    if flow_id is not None:
        query = query.where(flow_backfill.c.flow_id == flow_id)
    if before is not None:
        query = query.where(tuple_(flow_backfill.c.created_at, flow_backfill.c.id) < tuple_(*before))
    query = query.order_by(flow_backfill.c.created_at.desc(), flow_backfill.c.id.desc()).limit(limit)
    return [_backfill(row) for row in tx.execute(query)]


def parts(tx: Connection, backfill_ids: Collection[str]) -> Sequence[BackfillPart]:
    """By backfill and number."""
    query = select(flow_backfill_part).where(flow_backfill_part.c.backfill_id.in_(list(backfill_ids)))
    query = query.order_by(flow_backfill_part.c.backfill_id, flow_backfill_part.c.number)
    return [_part(row) for row in tx.execute(query)]


def lock_part(tx: Connection, backfill_id: str, number: int) -> BackfillPart | None:
    where = (flow_backfill_part.c.backfill_id == backfill_id, flow_backfill_part.c.number == number)
    row = tx.execute(select(flow_backfill_part).where(*where).with_for_update()).first()
    return _part(row) if row else None


def save_part(tx: Connection, value: BackfillPart) -> None:
    where = (flow_backfill_part.c.backfill_id == value.backfill_id, flow_backfill_part.c.number == value.number)
    tx.execute(flow_backfill_part.update().where(*where).values(**_part_values(value)))


def skip_planned(tx: Connection, backfill_id: str, reason: str) -> None:
    """What has not been started never is."""
    planned = flow_backfill_part.c.state == BackfillPartState.PLANNED.value
    query = flow_backfill_part.update().where(flow_backfill_part.c.backfill_id == backfill_id, planned)
    tx.execute(query.values(state=BackfillPartState.SKIPPED.value, reason=reason))


def run_phases(tx: Connection, run_ids: Collection[str]) -> dict[str, tuple[int, FlowRunPhase]]:
    """The number and phase of each of these runs."""
    found: dict[str, tuple[int, FlowRunPhase]] = {}
    for batch in batches(sorted(run_ids), 500):
        query = select(flow_run.c.id, flow_run.c.number, flow_run.c.phase).where(flow_run.c.id.in_(batch))
        found |= {row.id: (row.number, FlowRunPhase(row.phase)) for row in tx.execute(query)}
    return found


def params_of_runs(
    tx: Connection, flow_id: str, version: int, phases: Collection[FlowRunPhase]
) -> Sequence[tuple[int, Mapping[str, Any]]]:
    """The number and parameters of each run of a version in one of these phases, the oldest first."""
    query = select(flow_run.c.number, flow_run.c.params).where(
        flow_run.c.flow_id == flow_id,
        flow_run.c.version == version,
        flow_run.c.phase.in_([phase.value for phase in phases]),
    )
    return [(row.number, row.params) for row in tx.execute(query.order_by(flow_run.c.number))]


def _values(value: Backfill) -> dict[str, Any]:
    return {name: getattr(value, name) for name in _FIELDS if name != "flow"}


def _backfill(row: Row[Any]) -> Backfill:
    return Backfill(**{name: row._mapping[name] for name in _FIELDS})


def _part_values(value: BackfillPart) -> dict[str, Any]:
    return {name: getattr(value, name) for name in _PART_FIELDS} | {"state": value.state.value}


def _part(row: Row[Any]) -> BackfillPart:
    return BackfillPart(**{name: row._mapping[name] for name in _PART_FIELDS} | {"state": BackfillPartState(row.state)})
