"""Endpoints and their revisions: found by name, changed only while their row is locked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, or_, select, tuple_

from millpond.db.tables import endpoint, endpoint_revision, project
from millpond.model.documents import from_document, to_document
from millpond.model.endpoint import Endpoint, EndpointRevision, EndpointState, Rollout
from millpond.model.endpoint_spec import EndpointSpec

_ENDPOINTS = select(endpoint, project.c.name.label("project")).join(project, project.c.id == endpoint.c.project_id)
_revision = endpoint_revision


def insert(tx: Connection, value: Endpoint, first: EndpointRevision) -> None:
    """IntegrityError when the name is taken."""
    fixed = {
        "id": value.id,
        "project_id": value.project_id,
        "name": value.name,
        "created_by": value.created_by,
        "created_at": value.created_at,
        "revision": value.revision,
    }
    tx.execute(endpoint.insert().values(**fixed, **_changing(value)))
    add_revision(tx, first)


def get(tx: Connection, endpoint_id: str) -> Endpoint | None:
    row = tx.execute(_ENDPOINTS.where(endpoint.c.id == endpoint_id)).first()
    return _endpoint(row) if row else None


def find(tx: Connection, project_id: str, written: str) -> Endpoint | None:
    """By name or id; also one that is being deleted."""
    named = or_(endpoint.c.name == written, endpoint.c.id == written)
    row = tx.execute(_ENDPOINTS.where(endpoint.c.project_id == project_id, named)).first()
    return _endpoint(row) if row else None


def lock(tx: Connection, endpoint_id: str) -> Endpoint | None:
    """Read it to change it: nobody else does until this transaction ends."""
    row = tx.execute(_ENDPOINTS.where(endpoint.c.id == endpoint_id).with_for_update(of=endpoint)).first()
    return _endpoint(row) if row else None


def save(tx: Connection, value: Endpoint) -> None:
    """Only for one read by `lock` in the same transaction. The row's revision is the next one."""
    changed = {**_changing(value), "revision": value.revision + 1}
    tx.execute(endpoint.update().where(endpoint.c.id == value.id).values(**changed))


def delete(tx: Connection, endpoint_id: str) -> None:
    """With its revisions, replicas and tokens."""
    tx.execute(endpoint.delete().where(endpoint.c.id == endpoint_id))


def all_of(tx: Connection, project_id: str | None = None) -> Sequence[Endpoint]:
    """Oldest first; also those that are being deleted."""
    query = _ENDPOINTS if project_id is None else _ENDPOINTS.where(endpoint.c.project_id == project_id)
    return _all(tx, query.order_by(endpoint.c.created_at, endpoint.c.id))


def names(tx: Connection, project_id: str) -> Sequence[str]:
    query = select(endpoint.c.name).where(endpoint.c.project_id == project_id)
    return tx.scalars(query.order_by(endpoint.c.name)).all()


def page(
    tx: Connection, *, projects: Collection[str] | None, after: tuple[str, str] = ("", ""), limit: int
) -> Sequence[Endpoint]:
    """By project and name, behind `after`; of all projects if `projects` is None."""
    query = _ENDPOINTS.where(tuple_(project.c.name, endpoint.c.name) > tuple_(*after))
    if projects is not None:
        query = query.where(endpoint.c.project_id.in_(projects))
    return _all(tx, query.order_by(project.c.name, endpoint.c.name).limit(limit))


def add_revision(tx: Connection, value: EndpointRevision) -> None:
    tx.execute(
        _revision.insert().values(
            endpoint_id=value.endpoint_id, number=value.number, spec=to_document(value.spec),
            created_by=value.created_by, created_at=value.created_at, action=value.action, restores=value.restores,
            reason=value.reason,
        )
    )  # fmt: skip


def get_revision(tx: Connection, endpoint_id: str, number: int) -> EndpointRevision | None:
    key = (_revision.c.endpoint_id == endpoint_id) & (_revision.c.number == number)
    row = tx.execute(select(_revision).where(key)).first()
    return _to_revision(row) if row else None


def revisions(tx: Connection, endpoint_id: str, *, limit: int = 1000) -> Sequence[EndpointRevision]:
    """Newest first."""
    query = select(_revision).where(_revision.c.endpoint_id == endpoint_id)
    return [_to_revision(row) for row in tx.execute(query.order_by(_revision.c.number.desc()).limit(limit))]


def _all(tx: Connection, query: Select[Any]) -> Sequence[Endpoint]:
    return [_endpoint(row) for row in tx.execute(query)]


def _endpoint(row: Row[Any]) -> Endpoint:
    return Endpoint(
        **{
            **row._mapping,
            "spec": from_document(EndpointSpec, row.spec),
            "weights": tuple(row.weights),
            "rollout": from_document(Rollout, row.rollout) if row.rollout else None,
            "state": EndpointState(row.state),
            "reasons": tuple(row.reasons),
        }
    )


def _changing(value: Endpoint) -> dict[str, Any]:
    return {
        "user_id": value.user_id,
        "changed_at": value.changed_at,
        "spec": to_document(value.spec),
        "number": value.number,
        "weights": list(value.weights),
        "rollout": to_document(value.rollout) if value.rollout else None,
        "wanted": dict(value.wanted),
        "scale_reasons": dict(value.scale_reasons),
        "state": value.state.value,
        "reasons": list(value.reasons),
        "failure": value.failure,
        "deleted_at": value.deleted_at,
    }


def _to_revision(row: Row[Any]) -> EndpointRevision:
    return EndpointRevision(**{**row._mapping, "spec": from_document(EndpointSpec, row.spec)})
