"""Sources as the wire shows them."""

from __future__ import annotations

from millpond.model.path import to_text
from millpond.services.sources.sources import SourceView
from millpond.wire import imports as wire


def source(view: SourceView) -> wire.Source:
    found = view.source
    return wire.Source(
        id=found.id,
        project=view.project,
        name=found.name,
        dataset=view.dataset,
        connection=view.connection,
        uri=found.uri,
        listing=found.listing,
        path=to_text(found.path),
        branch=found.branch,
        copies=found.copies,
        every_seconds=found.every_seconds,
        user=view.user,
        state=view.state,
        created_at=found.created_at,
        started_at=found.started_at,
        ended_at=found.ended_at,
        next_at=found.next_at if found.paused_at is None else None,
        result=wire.SourceResult.model_validate(found.result) if found.result else None,
        problem=found.problem,
        failures=found.failures,
    )
