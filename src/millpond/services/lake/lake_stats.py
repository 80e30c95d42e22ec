"""How much the lake holds: what people see, what is stored, and where the difference comes from."""

from __future__ import annotations

from collections.abc import Sequence

from millpond.db import collecting, lake_stats
from millpond.services.deps import Deps
from millpond.wire import lake as wire


def stats(deps: Deps) -> wire.LakeStats:
    """Each project and all together."""
    with deps.db.read() as tx:
        shapes = [
            _shape(name, lake_stats.of_project(tx, project_id)) for project_id, name in collecting.project_ids(tx)
        ]
    return wire.LakeStats(total=_total(shapes), projects=shapes)


def _shape(name: str, found: lake_stats.Stored) -> wire.ProjectStats:
    return wire.ProjectStats(
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


def _total(shapes: Sequence[wire.ProjectStats]) -> wire.ProjectStats:
    numbers = [field for field in wire.ProjectStats.model_fields if field != "project"]
    return wire.ProjectStats(project="", **{field: sum(getattr(shape, field) for shape in shapes) for field in numbers})
