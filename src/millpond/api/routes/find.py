"""Find things of every noun."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, SignedIn
from millpond.services import find
from millpond.wire.find import FindResult, Found

router = APIRouter(tags=["find"])


@router.get("/find")
def find_everything(
    actor: SignedIn,
    deps: DepsOf,
    q: Annotated[str, Query(max_length=200, description="A part of a name, `project/name`, `job#7`, or an id.")] = "",
    limit: Annotated[int, Query(ge=1, le=100, description="Most matches to return.")] = 20,
) -> FindResult:
    """Find projects, datasets, commits, refs, jobs, runs, searches, computes, volumes, sites and sources you see."""
    return FindResult(items=[Found.model_validate(item) for item in find.find(deps, actor, q, limit=limit)])
