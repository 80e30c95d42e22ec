"""Who changed what."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SiteAdmin
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.services.people import audit
from millpond.wire import people as wire
from millpond.wire.base import Page

router = APIRouter(tags=["audit"])


@router.get("/audit")
def list_audit(
    actor: SiteAdmin, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.AuditRecord]:
    """Newest first."""
    return page(audit.list_records(deps, limit=limit, cursor=cursor), wire.AuditRecord.model_validate)
