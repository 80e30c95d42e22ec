"""The waiting line of all projects, and what would change it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from millpond.api.access import DepsOf, SignedIn, SiteAdmin
from millpond.decide.scheduling.what_if import Change, MoreNodes, ProjectWhatIf
from millpond.services.jobs import pending, what_if
from millpond.services.jobs.pending import PendingJob
from millpond.wire import scheduling as wire
from millpond.wire.base import Page

router = APIRouter(tags=["jobs"])


@router.get("/pending")
def list_pending(
    actor: SignedIn, deps: DepsOf, project: Annotated[str | None, Query(description="Only of this project.")] = None
) -> Page[wire.PendingJob]:
    """Every job that waits, the next one first. Positions count the jobs of all projects."""
    return Page(items=[_pending(one) for one in pending.pending(deps, actor, project=project)])


@router.post("/plan:what-if")
def plan_what_if(body: wire.WhatIf, actor: SiteAdmin, deps: DepsOf) -> wire.WhatIfAnswer:
    """Replay jobs with other quotas, settings or nodes, and compare. Nothing is changed."""
    found = what_if.what_if(
        deps, _change(body), replay_seconds=body.replay_seconds, duration_seconds=body.duration_seconds
    )
    return wire.WhatIfAnswer.model_validate(asdict(found))


def _change(body: wire.WhatIf) -> Change:
    return Change(
        projects={
            name: ProjectWhatIf(
                _hundredths(one.quota), _hundredths(one.weight), _hundredths(one.limit), one.over_quota, one.min_runtime
            )
            for name, one in body.projects.items()
        },
        nodes=[MoreNodes(one.count, one.like, one.site, one.gpus, one.cpus, one.memory_bytes) for one in body.nodes],
        rebalance=body.settings.rebalance,
    )


def _hundredths(gpus: float | None) -> int | None:
    return None if gpus is None else round(gpus * 100)


def _pending(one: PendingJob) -> wire.PendingJob:
    return wire.PendingJob(
        position=one.position,
        id=one.id,
        job=one.job,
        project=one.project,
        gpus=one.gpus / 100,
        priority=one.priority,
        submitted_at=one.queued_at,
        rule=one.rule,
        reason=one.reason,
        expected_start=one.expected_start,
    )
