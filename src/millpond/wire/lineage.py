"""What made a commit, and what was made from it."""

from __future__ import annotations

from typing import Literal

from millpond.model.lineage import LineageDirection, LineageRole
from millpond.model.lineage_graph import NodeKind
from millpond.wire.base import Response, Time


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


class LineageNode(Response):
    """A commit, a run, a job that was deleted for good (its run is gone), or a place that was imported from.

    `key` is what edges name. A run of a job stands for the job, too.
    """

    key: str
    kind: NodeKind
    id: str
    # From the node that was asked about: below 0 what it was made from, above 0 what was made of it.
    level: int
    project: str | None = None
    # Of a commit.
    dataset: str | None = None
    # Of a commit that is a version of a model: its number.
    version: int | None = None
    # Of a run; the message of a commit; the address of an import.
    name: str | None = None
    # Of a run, or of its job.
    state: str | None = None
    job: str | None = None
    at: Time | None = None
    # Deleted: only its id is known.
    is_gone: bool = False
    # There are neighbours on this side that are not shown: ask about this node, or for more.
    more_up: bool = False
    more_down: bool = False


class LineageLink(Response):
    """From what was there first to what came of it, as keys of nodes."""

    source: str
    target: str
    role: Literal["input", "code", "made", "parent", "origin"]


class LineageGraph(Response):
    """Nodes and edges around one node, `root`; its own node comes first."""

    root: str
    nodes: list[LineageNode]
    edges: list[LineageLink]
    # True if there are more nodes than `limit`.
    is_cut: bool = False


class Lineage(Response):
    commit: LineageCommit
    direction: LineageDirection
    steps: list[LineageStep]
    # True if there are more steps than `limit`.
    is_cut: bool = False
