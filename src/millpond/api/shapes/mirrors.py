"""Mirrors as the wire shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millpond.services.mirrors.mirrors import MirrorView
from millpond.wire import mirrors as wire


def mirror(view: MirrorView) -> wire.Mirror:
    found, labels = view.mirror, view.labels
    if labels.workspace is not None:
        source = f"{labels.workspace}@{found.label}" if found.label else labels.workspace
    else:
        source = f"{labels.dataset}@{found.branch}"
    return wire.Mirror(
        id=found.id,
        project=labels.project,
        name=found.name,
        source=source,
        dataset=labels.dataset,
        branch=found.branch or None,
        workspace=labels.workspace,
        label=found.label or None,
        target=found.uri or f"{labels.site}, volume {labels.volume}",
        connection=labels.connection,
        uri=found.uri or None,
        site=labels.site,
        volume=labels.volume,
        every_seconds=found.every_seconds,
        user=labels.user,
        state=view.state,
        progress=found.progress if view.state == "running" else None,
        created_at=found.created_at,
        asked_at=found.asked_at,
        started_at=found.started_at,
        ended_at=found.ended_at,
        next_at=found.next_at if view.state not in ("paused", "running") else None,
        commit_id=found.commit_id,
        content_at=found.content_at,
        mirrored_at=found.mirrored_at,
        lag=wire.MirrorLag.model_validate(view.lag) if view.lag else None,
        result=result(found.result) if found.result else None,
        problem=found.problem,
        failures=found.failures,
    )


def result(told: Mapping[str, Any]) -> wire.MirrorResult:
    return wire.MirrorResult.model_validate(told)
