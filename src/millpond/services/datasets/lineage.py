"""Lineage of a commit, as far as the actor may see it."""

from __future__ import annotations

from millpond.db import lineage_steps
from millpond.decide.lineage import without_unfinished
from millpond.model.dataset import Commit, Dataset
from millpond.model.lineage import Lineage, LineageCommit, LineageDirection
from millpond.model.people import Actor
from millpond.services.deps import Deps
from millpond.services.people import access

MOST_DEPTH = 50


def lineage(
    deps: Deps, actor: Actor, dataset: Dataset, commit: Commit, direction: LineageDirection, *, depth: int, limit: int
) -> Lineage:
    """What made it, or what was made from it: the nearest first, up to `depth` commits away."""
    among = access.visible_projects(actor)
    with deps.db.read() as tx:
        found = lineage_steps.steps(tx, commit.id, direction, among=among, depth=depth, limit=limit + 1)
    return Lineage(
        commit=LineageCommit(commit.id, dataset.project, dataset.name, commit.message),
        direction=direction,
        steps=tuple(without_unfinished(found[:limit])),
        is_cut=len(found) > limit,
    )
