"""Saved views of lists of runs, over the API."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.client.http import Api, segment
from millpond.errors import NotFound
from millpond.wire.saved_views import SavedView, SavedViewPut, SavedViews


def list_views(api: Api, project: str) -> Sequence[SavedView]:
    """Shared ones and one's own, by name."""
    return api.get(f"/projects/{segment(project)}/run-views", SavedViews).items


def find_view(api: Api, project: str, name: str) -> SavedView:
    """The view of this name; one's own before a shared one."""
    known = list_views(api, project)
    for view in sorted(known, key=lambda one: one.shared):
        if view.name == name:
            return view
    hint = f"Known: {', '.join(sorted({view.name for view in known}))}." if known else "List them: mill run view list"
    raise NotFound(f"No view {name!r} found.", hint=hint)


def save_view(api: Api, project: str, view: SavedViewPut) -> SavedView:
    """In place of one of the same name."""
    return api.send("PUT", f"/projects/{segment(project)}/run-views", SavedView, view, idempotent=True)


def delete_view(api: Api, project: str, view_id: str) -> None:
    api.request("DELETE", f"/projects/{segment(project)}/run-views/{segment(view_id)}")
