"""Search over every noun."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, SignedIn
from millpond.services import search
from millpond.wire.search import Found, SearchResult

router = APIRouter(tags=["search"])


@router.get("/search")
def search_everything(
    actor: SignedIn,
    deps: DepsOf,
    q: Annotated[str, Query(max_length=200, description="A part of a name, `project/name`, `job#7`, or an id.")] = "",
    limit: Annotated[int, Query(ge=1, le=100, description="Most matches to return.")] = 20,
) -> SearchResult:
    """Find projects, datasets, commits, refs, jobs, runs, computes, volumes, sites and sources you may see."""
    return SearchResult(items=[Found.model_validate(item) for item in search.search(deps, actor, q, limit=limit)])
