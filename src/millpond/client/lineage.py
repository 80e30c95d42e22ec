"""Lineage of commits, over the API."""

from __future__ import annotations

from millpond.client.http import Api
from millpond.client.paths import commit_path
from millpond.model.lineage import LineageDirection
from millpond.wire.lineage import Lineage


def get_lineage(
    api: Api, project: str, dataset: str, ref: str, direction: LineageDirection, *, depth: int | None = None,
    limit: int | None = None,
) -> Lineage:  # fmt: skip
    """What made a commit (up), or what was made from it (down)."""
    path = f"{commit_path(project, dataset, ref)}/lineage"
    return api.get(path, Lineage, direction=direction.value, depth=depth, limit=limit)
