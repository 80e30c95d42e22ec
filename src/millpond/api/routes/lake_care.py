"""Looking after the lake: collecting what nothing needs, and how much there is."""

from __future__ import annotations

from fastapi import APIRouter

from millpond.api.access import DepsOf, SiteAdmin
from millpond.services.lake import collect, lake_stats, reconcile
from millpond.wire import lake as wire

router = APIRouter(prefix="/lake", tags=["lake"])


@router.post("/collect")
def collect_lake(body: wire.Collect, actor: SiteAdmin, deps: DepsOf) -> wire.Collected:
    """Remove what nothing needs any more, or say what would go; why the rest stays."""
    return wire.Collected.model_validate(collect.collect(deps, actor, dry_run=body.dry_run, now=body.now))


@router.post("/reconcile")
def reconcile_lake(body: wire.Reconcile, actor: SiteAdmin, deps: DepsOf) -> wire.Reconciled:
    """Bring projects that differ from the lake up to date with it, as after an older database was restored."""
    done = reconcile.reconcile(deps, actor, body.project)
    return wire.Reconciled(projects=done.projects, datasets=done.datasets, commits=done.commits, problems=done.problems)


@router.get("/stats")
def get_lake_stats(actor: SiteAdmin, deps: DepsOf) -> wire.LakeStats:
    """Logical and stored bytes, and what deduplication and compression save."""
    return wire.LakeStats.model_validate(lake_stats.stats(deps))
