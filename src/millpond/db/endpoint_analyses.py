"""Analyses of request logs: those whose jobs run, and what they found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select

from millpond.db.tables import endpoint_analysis
from millpond.model.endpoint_analysis import Analysis, AnalysisKind, AnalysisState

_at = endpoint_analysis.c


def insert(tx: Connection, value: Analysis) -> None:
    """IntegrityError if the endpoint has one of this kind and key."""
    tx.execute(endpoint_analysis.insert().values(**_values(value)))


def save(tx: Connection, value: Analysis) -> None:
    tx.execute(endpoint_analysis.update().where(_at.id == value.id).values(**_values(value)))


def lock(tx: Connection, analysis_id: str) -> Analysis | None:
    row = tx.execute(select(endpoint_analysis).where(_at.id == analysis_id).with_for_update()).first()
    return _analysis(row) if row else None


def find(tx: Connection, endpoint_id: str, kind: AnalysisKind, key: str) -> Analysis | None:
    mine = _at.endpoint_id == endpoint_id, _at.kind == kind.value, _at.key == key
    row = tx.execute(select(endpoint_analysis).where(*mine)).first()
    return _analysis(row) if row else None


def running(tx: Connection) -> Sequence[Analysis]:
    """Of all endpoints, oldest first."""
    query = select(endpoint_analysis).where(_at.state == AnalysisState.RUNNING.value).order_by(_at.created_at)
    return [_analysis(row) for row in tx.execute(query)]


def page(
    tx: Connection, endpoint_id: str, kind: AnalysisKind, *, state: AnalysisState | None = None, limit: int
) -> Sequence[Analysis]:
    """Newest first."""
    query = select(endpoint_analysis).where(_at.endpoint_id == endpoint_id, _at.kind == kind.value)
    if state is not None:
        query = query.where(_at.state == state.value)
    return [_analysis(row) for row in tx.execute(query.order_by(_at.created_at.desc(), _at.id).limit(limit))]


def newest(tx: Connection, endpoint_ids: Collection[str], kind: AnalysisKind) -> Mapping[str, Analysis]:
    """The newest that is done, by endpoint."""
    chosen = _at.endpoint_id.in_(endpoint_ids), _at.kind == kind.value, _at.state == AnalysisState.DONE.value
    latest = select(_at.endpoint_id, func.max(_at.created_at).label("at")).where(*chosen).group_by(_at.endpoint_id)
    last = latest.subquery()
    query = select(endpoint_analysis).join(
        last, (last.c.endpoint_id == _at.endpoint_id) & (last.c.at == _at.created_at)
    )
    return {row.endpoint_id: _analysis(row) for row in tx.execute(query.where(*chosen))}


def forget(tx: Connection, before: datetime) -> None:
    tx.execute(endpoint_analysis.delete().where(_at.created_at < before))


def _values(value: Analysis) -> dict[str, Any]:
    return {
        "id": value.id,
        "endpoint_id": value.endpoint_id,
        "kind": value.kind.value,
        "key": value.key,
        "since": value.since,
        "until": value.until,
        "created_by": value.created_by,
        "created_at": value.created_at,
        "state": value.state.value,
        "job_id": value.job_id,
        "run_id": value.run_id,
        "ended_at": value.ended_at,
        "error": value.error,
        "asked": dict(value.asked),
        "report": dict(value.report),
        "alerts": list(value.alerts),
    }


def _analysis(row: Row[Any]) -> Analysis:
    return Analysis(
        **{
            **row._mapping,
            "kind": AnalysisKind(row.kind),
            "state": AnalysisState(row.state),
            "alerts": tuple(row.alerts),
        }
    )
