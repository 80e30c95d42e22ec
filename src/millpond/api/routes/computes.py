"""Computes and their nodes."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api import shapes
from millpond.api.access import DepsOf, SignedIn
from millpond.api.paging import DEFAULT_LIMIT, Cursor, Limit, page
from millpond.services import computes
from millpond.wire import work as wire
from millpond.wire.base import Page

router = APIRouter(prefix="/computes", tags=["computes"])


@router.get("")
def list_computes(
    actor: SignedIn, deps: DepsOf, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[wire.Compute]:
    return page(computes.list_computes(deps, limit=limit, cursor=cursor), shapes.compute)
