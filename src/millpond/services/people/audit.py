"""The audit log: every change writes one record inside its own transaction. Nobody changes or removes one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import audit as rows
from millpond.db.audit import AuditFilter, AuditRecord
from millpond.decide.audit_values import changed, values_of
from millpond.log_lines import REQUEST_ADDRESS, REQUEST_ID
from millpond.masking import Mask
from millpond.model.dataset import Dataset
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.listing import Listing, number_of, page_of

__all__ = [
    "AuditFilter",
    "AuditRecord",
    "export",
    "list_records",
    "record",
    "record_dataset",
    "record_setting",
    "values_of",
]

# Read at once while an export goes on.
_BATCH = 1_000
_MASK = Mask()


def record(
    tx: Connection,
    *,
    now: datetime,
    actor: Actor,
    action: str,
    subject: str,
    project_id: str | None = None,
    details: Mapping[str, Any] | None = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Note that `actor` did `action` (noun.verb, like `dataset.create`) to `subject`. No secrets in any of it.

    Of `before` and `after` those values are kept that differ; something made has no `before`, something removed no
    `after`. Where from, and in which request, is known.
    """
    known = dict(details or {})
    if actor.job_id is not None:
        known["job"] = actor.job_id
    old, new = changed(before, after)
    rows.insert(
        tx, at=now, actor=actor.name, action=action, subject=subject[:300], project_id=project_id, details=known,
        address=REQUEST_ADDRESS.get(), via=actor.via[:300], request=REQUEST_ID.get(), before=_masked(old),
        after=_masked(new),
    )  # fmt: skip


def record_dataset(
    tx: Connection,
    deps: Deps,
    actor: Actor,
    action: str,
    dataset: Dataset,
    **details: object,
) -> None:
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


def record_setting(
    tx: Connection, deps: Deps, actor: Actor, action: str, dataset: Dataset, name: str, before: object, after: object
) -> None:
    """Note that a setting of a dataset was changed."""
    record(
        tx, now=deps.clock.now(), actor=actor, action=action, subject=dataset.written, project_id=dataset.project_id,
        before={name: before}, after={name: after},
    )  # fmt: skip


def list_records(
    deps: Deps, chosen: AuditFilter | None = None, *, limit: int, cursor: str | None
) -> Listing[AuditRecord]:
    """Newest first. Whoever asks has been checked: a filter with a project shows that project alone."""
    with deps.db.read() as tx:
        found = rows.page(tx, chosen, limit=limit + 1, before=number_of(cursor))
    return page_of(found, limit, key=lambda item: item.id)


def export(deps: Deps, actor: Actor, chosen: AuditFilter, *, project: str | None = None) -> Iterator[AuditRecord]:
    """Those that are there now, oldest first, read as they are taken. The export itself is recorded, behind them."""
    asked = {name: value for name, value in values_of(replace(chosen, project_id=project)).items() if value is not None}
    with deps.db.write() as tx:
        last = rows.newest_id(tx)
        record(
            tx, now=deps.clock.now(), actor=actor, action="audit.export", subject=project or "all",
            project_id=chosen.project_id, after=asked,
        )  # fmt: skip
    return _behind(deps, chosen, last)


def _behind(deps: Deps, chosen: AuditFilter, last: int) -> Iterator[AuditRecord]:
    number = 0
    while True:
        with deps.db.read() as tx:
            found = rows.after(tx, number, chosen, up_to=last, limit=_BATCH)
        yield from found
        if len(found) < _BATCH:
            return
        number = found[-1].id


def _masked(values: dict[str, Any]) -> dict[str, Any]:
    """Without what looks like a token or a signed URL, wherever it came from."""
    if not values:
        return values
    masked: dict[str, Any] = json.loads(_MASK.apply(json.dumps(values).encode()))
    return masked
