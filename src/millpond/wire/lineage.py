"""What made a commit, and what was made from it."""

from __future__ import annotations

from millpond.model.lineage import LineageDirection, LineageRole
from millpond.wire.base import Response


class LineageCommit(Response):
    """One end of a step; without project and dataset for a commit that the lake no longer has."""

    id: str
    project: str | None = None
    dataset: str | None = None
    message: str | None = None


class LineageMaker(Response):
    """`kind` is job, run, import, merge, step, query, model or commit (a person's own commit, which has no id)."""

    kind: str
    id: str


class LineageStep(Response):
    """`made` was made from `source`. A job without `made` has read its sources and made nothing (yet)."""

    # From the commit that was asked about, from 1.
    depth: int
    role: LineageRole
    source: LineageCommit | None
    made: LineageCommit | None
    maker: LineageMaker
    # Of a job or run that still exists.
    maker_name: str | None = None
    maker_project: str | None = None


class Lineage(Response):
    commit: LineageCommit
    direction: LineageDirection
    steps: list[LineageStep]
    # True if there are more steps than `limit`.
    is_cut: bool = False
