"""Replicas and routers of endpoints, and what the processes of service jobs told of themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select

from millpond.db.tables import placement, replica, router, service_report
from millpond.model.documents import from_document, to_document
from millpond.model.endpoint_spec import EndpointPorts
from millpond.model.replica import FailedStarts, Replica, ReplicaState, Router

_LIVING = replica.c.state != ReplicaState.ENDED.value


@dataclass(frozen=True, slots=True)
class ServiceReport:
    placement_id: str
    ready: Mapping[str, Any] | None
    stats: Mapping[str, Any] | None
    at: datetime


def insert(tx: Connection, value: Replica) -> None:
    fixed = {
        "id": value.id,
        "endpoint_id": value.endpoint_id,
        "site_id": value.site_id,
        "site": value.site,
        "model": value.model,
        "version": value.version,
        "shape": value.shape,
        "job_id": value.job_id,
        "created_at": value.created_at,
    }
    tx.execute(replica.insert().values(**fixed, **_changing(value)))


def save(tx: Connection, value: Replica) -> None:
    """Only while its endpoint is locked."""
    tx.execute(replica.update().where(replica.c.id == value.id).values(**_changing(value)))


def living(tx: Connection, endpoint_ids: Collection[str]) -> Sequence[Replica]:
    """Oldest first."""
    query = select(replica).where(replica.c.endpoint_id.in_(endpoint_ids), _LIVING)
    return [_replica(row) for row in tx.execute(query.order_by(replica.c.created_at, replica.c.id))]


def forget_ended(tx: Connection, endpoint_id: str, before: datetime) -> None:
    """Those that ended are of no use to anybody after a while; their jobs stay."""
    ended = (replica.c.state == ReplicaState.ENDED.value) & (replica.c.draining_at < before)
    tx.execute(replica.delete().where(replica.c.endpoint_id == endpoint_id, ended))


# Routers -----------------------------------------------------------------------------------------------


def routers(tx: Connection, project_id: str | None = None) -> Sequence[Router]:
    query = select(router) if project_id is None else select(router).where(router.c.project_id == project_id)
    return [_router(row) for row in tx.execute(query.order_by(router.c.site, router.c.http_port))]


def routers_of_jobs(tx: Connection, job_ids: Collection[str]) -> Mapping[str, Router]:
    """By the ids of these jobs."""
    rows = tx.execute(select(router).where(router.c.job_id.in_(job_ids))) if job_ids else ()
    return {row.job_id: _router(row) for row in rows}


def lock_router(tx: Connection, router_id: str) -> Router | None:
    row = tx.execute(select(router).where(router.c.id == router_id).with_for_update()).first()
    return _router(row) if row else None


def insert_router(tx: Connection, value: Router) -> None:
    """IntegrityError if there is one of this project, site and port."""
    fixed = {
        "id": value.id,
        "project_id": value.project_id,
        "site_id": value.site_id,
        "site": value.site,
        "http_port": value.ports.http,
        "grpc_port": value.ports.grpc,
        "metrics_port": value.ports.metrics,
    }
    tx.execute(router.insert().values(**fixed, **_changing_router(value)))


def save_router(tx: Connection, value: Router) -> None:
    tx.execute(router.update().where(router.c.id == value.id).values(**_changing_router(value)))


def delete_router(tx: Connection, router_id: str) -> None:
    tx.execute(router.delete().where(router.c.id == router_id))


# What processes told -----------------------------------------------------------------------------------


def note_report(
    tx: Connection, placement_id: str, *, ready: Mapping[str, Any] | None, stats: Mapping[str, Any] | None,
    now: datetime,
) -> None:  # fmt: skip
    """The newest word of a placement; nothing if the placement is not known."""
    values = {"ready": ready, "stats": stats, "at": now}
    known = service_report.c.placement_id == placement_id
    if tx.execute(service_report.update().where(known).values(**values)).rowcount:
        return
    if tx.scalar(select(placement.c.id).where(placement.c.id == placement_id)) is not None:
        tx.execute(service_report.insert().values(placement_id=placement_id, **values))


def reports(tx: Connection, placement_ids: Collection[str]) -> Mapping[str, ServiceReport]:
    rows = (
        tx.execute(select(service_report).where(service_report.c.placement_id.in_(placement_ids)))
        if placement_ids
        else ()
    )
    return {row.placement_id: ServiceReport(*row) for row in rows}


def _replica(row: Row[Any]) -> Replica:
    return Replica(**{**row._mapping, "state": ReplicaState(row.state), "failures": _failures(row)})


def _changing(value: Replica) -> dict[str, Any]:
    return {
        "state": value.state.value,
        "ready_at": value.ready_at,
        "draining_at": value.draining_at,
        "placement_id": value.placement_id,
        "ready": dict(value.ready),
        "problem": value.problem,
        "failures": to_document(value.failures),
    }


def _router(row: Row[Any]) -> Router:
    return Router(
        id=row.id,
        project_id=row.project_id,
        site_id=row.site_id,
        site=row.site,
        ports=EndpointPorts(row.http_port, row.grpc_port, row.metrics_port),
        job_id=row.job_id,
        placement_id=row.placement_id,
        config=row.config,
        config_number=row.config_number,
        problem=row.problem,
        failures=_failures(row),
    )


def _changing_router(value: Router) -> dict[str, Any]:
    return {
        "job_id": value.job_id,
        "placement_id": value.placement_id,
        "config": dict(value.config),
        "config_number": value.config_number,
        "problem": value.problem,
        "failures": to_document(value.failures),
    }


def _failures(row: Row[Any]) -> FailedStarts:
    return from_document(FailedStarts, row.failures or {})
