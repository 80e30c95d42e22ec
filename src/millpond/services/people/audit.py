"""The audit trail: every change writes one record inside its own transaction."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import audit as rows
from millpond.db.audit import AuditRecord
from millpond.model.dataset import Dataset
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.listing import Listing, number_of, page_of


def record(
    tx: Connection,
    *,
    now: datetime,
    actor: Actor,
    action: str,
    subject: str,
    project_id: str | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Note that `actor` did `action` (noun.verb, like `dataset.create`) to `subject`. No secrets in `details`."""
    known = dict(details or {})
    if actor.job_id is not None:
        known["job"] = actor.job_id
    rows.insert(
        tx, at=now, actor=actor.name, action=action, subject=subject[:300], project_id=project_id, details=known
    )


def record_dataset(tx: Connection, deps: Deps, actor: Actor, action: str, dataset: Dataset, **details: object) -> None:
    """Note what was done to a dataset."""
    record(
        tx,
        now=deps.clock.now(),
        actor=actor,
        action=action,
        subject=dataset.written,
        project_id=dataset.project_id,
        details=details,
    )


def list_records(deps: Deps, *, limit: int, cursor: str | None) -> Listing[AuditRecord]:
    """Newest first."""
    with deps.db.read() as tx:
        found = rows.page(tx, limit=limit + 1, before=number_of(cursor))
    return page_of(found, limit, key=lambda item: item.id)
