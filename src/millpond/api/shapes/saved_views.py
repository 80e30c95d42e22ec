"""Saved views as the wire shows them, and what is asked of them as services take it."""

from __future__ import annotations

from dataclasses import asdict

from millpond.model.saved_view import SavedView, ViewQuery
from millpond.wire import saved_views as wire


def view(value: SavedView) -> wire.SavedView:
    return wire.SavedView(
        id=value.id,
        name=value.name,
        shared=value.is_shared,
        created_by=value.created_by,
        changed_at=value.changed_at,
        **asdict(value.query),
    )


def query(body: wire.SavedViewPut) -> ViewQuery:
    return ViewQuery(
        experiment=body.experiment, filter=body.filter, sort=body.sort, columns=body.columns, group=body.group
    )
