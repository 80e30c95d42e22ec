"""Quotas of projects: what each may take of what all share, what it uses, and who does."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter

from millpond.api.access import DepsOf, SiteAdmin, UncountedViewer
from millpond.decide.quotas import used_words
from millpond.model.quota import QuotaUse
from millpond.services.quotas import quotas
from millpond.wire import quotas as wire

router = APIRouter(prefix="/projects/{project}", tags=["projects"])


@router.get("/usage")
def get_project_usage(scope: UncountedViewer, deps: DepsOf) -> wire.ProjectUsage:
    """What the project uses of the lake, of caches, of jobs and API calls, its quotas, and who has most of it."""
    return _usage(scope.project.name, quotas.usage(deps, scope.project))


@router.patch("/quota")
def change_project_quota(project: str, body: wire.QuotaChange, actor: SiteAdmin, deps: DepsOf) -> wire.ProjectUsage:
    """Set or lift quotas. What is used beyond a new one stays, and nothing is added to it."""
    return _usage(project, quotas.change(deps, actor, project, body.model_dump(exclude_unset=True)))


def _usage(project: str, found: Sequence[QuotaUse]) -> wire.ProjectUsage:
    items = [
        wire.QuotaUse(
            kind=one.kind.value,
            limit=one.limit,
            used=one.used,
            text=used_words(one),
            holders=[wire.QuotaHolder(name=holder.name, amount=holder.amount) for holder in one.holders],
        )
        for one in found
    ]
    return wire.ProjectUsage(project=project, items=items)
