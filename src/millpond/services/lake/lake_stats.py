"""How much the lake holds: what people see, what is stored, and where the difference comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from millpond.db import collecting, lake_stats
from millpond.services.deps import Deps


@dataclass(frozen=True, slots=True)
class ProjectStats:
    """Bytes of one project. `logical`: every commit as if it lay alone; `raw`: each blob once, not compressed."""

    project: str
    datasets: int
    commits: int
    logical_bytes: int
    raw_bytes: int
    stored_bytes: int
    packs: int
    saved_by_deduplication: int
    saved_by_compression: int
    condemned_bytes: int  # in packs that nothing needs, or that are damaged


@dataclass(frozen=True, slots=True)
class LakeStats:
    total: ProjectStats
    projects: Sequence[ProjectStats]


def stats(deps: Deps) -> LakeStats:
    """Each project and all together."""
    with deps.db.read() as tx:
        found = [_stats(name, lake_stats.of_project(tx, project_id)) for project_id, name in collecting.project_ids(tx)]
    return LakeStats(_total(found), found)


def _stats(name: str, found: lake_stats.Stored) -> ProjectStats:
    return ProjectStats(
        project=name,
        datasets=found.datasets,
        commits=found.commits,
        logical_bytes=found.logical,
        raw_bytes=found.raw,
        stored_bytes=found.packed,
        packs=found.packs,
        # Content that no commit needs (any more) may outweigh what is shared.
        saved_by_deduplication=max(0, found.logical - found.raw),
        saved_by_compression=max(0, found.raw - found.stored),
        condemned_bytes=found.condemned,
    )


def _total(found: Sequence[ProjectStats]) -> ProjectStats:
    numbers = [field.name for field in fields(ProjectStats) if field.name != "project"]
    return ProjectStats(project="", **{name: sum(getattr(one, name) for one in found) for name in numbers})
