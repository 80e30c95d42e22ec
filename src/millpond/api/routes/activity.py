"""What happened lately."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, SignedIn
from millpond.services import activity
from millpond.wire import people as wire

router = APIRouter(tags=["activity"])


@router.get("/activity")
def list_activity(
    actor: SignedIn,
    deps: DepsOf,
    project: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200, description="Maximum number of items.")] = 50,
) -> wire.Activity:
    """What people changed and how jobs ended, newest first, in the projects one may see."""
    found = activity.latest(deps, actor, project=project, limit=limit)
    return wire.Activity(items=[wire.Happening.model_validate(item) for item in found])
