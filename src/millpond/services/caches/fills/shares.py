"""What the trees on a volume share, as its agent measures it: asked for where it is not known, and taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from millpond.db import caches, shares
from millpond.db.caches import CachedView
from millpond.model.cached_state import CachedState
from millpond.model.volume import CachedCommit, Share, Volume
from millpond.wire.desired import DesiredMeasure
from millpond.wire.observed import ProjectShares


def to_measure(tx: Connection, volume_id: str, found: Sequence[CachedView]) -> list[DesiredMeasure]:
    """Of `found`, all that is cached on the volume: the projects that have other commits now than were measured.

    A project of which something is just leaving is measured when that is gone.
    """
    ready, leaving = _by_project(found)
    known = shares.members_by_project(tx, volume_id)
    return [
        DesiredMeasure(
            project_id=project_id,
            commits=sorted((row.dataset_id, row.commit_id) for row in ready.get(project_id, ())),
        )
        for project_id in sorted((ready.keys() | known.keys()) - leaving)
        if {row.id for row in ready.get(project_id, ())} != known.get(project_id, frozenset())
    ]


def take_shares(tx: Connection, volume: Volume, measured: Sequence[ProjectShares]) -> None:
    """Take what was measured, unless something has come or gone meanwhile: then it is measured again."""
    if not measured:
        return
    ready, leaving = _by_project(caches.of_volume(tx, volume.id))
    for project in measured:
        ids = {row.commit_id: row.id for row in ready.get(project.project_id, ())}
        if project.project_id not in leaving and set(project.commits) == ids.keys():
            shares.replace(tx, volume.id, project.project_id, _shares(project, ids))


def _shares(project: ProjectShares, ids: Mapping[str, str]) -> list[Share]:
    return [
        Share(frozenset(ids[commit] for commit in share.commits if commit in ids), share.bytes, share.inodes)
        for share in project.shares
    ]


def _by_project(found: Sequence[CachedView]) -> tuple[dict[str, list[CachedCommit]], set[str]]:
    """The ready ones of each project, and the projects of which one is on its way out."""
    ready: defaultdict[str, list[CachedCommit]] = defaultdict(list)
    for view in found:
        if view.cached.state is CachedState.READY:
            ready[view.cached.project_id].append(view.cached)
    leaving = {view.cached.project_id for view in found if view.cached.state is CachedState.EVICTING}
    return ready, leaving
