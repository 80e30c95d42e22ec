"""Lineage as a graph to look at: commits, and the runs that read and made them, around one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum


class NodeKind(Enum):
    COMMIT = "commit"
    RUN = "run"  # of a job or a script
    JOB = "job"  # one that was deleted for good: its run is gone
    IMPORT = "import"  # a place outside the lake


@dataclass(frozen=True, slots=True)
class NodeKey:
    kind: NodeKind
    id: str

    def __str__(self) -> str:
        return f"{self.kind.value}:{self.id}"


@dataclass(frozen=True, slots=True)
class LineageNode:
    """`level` counts from the node that was asked about: below 0 what it was made from, above 0 what was made of it.

    `more_up`, `more_down`: neighbours on that side that are not shown.
    """

    key: NodeKey
    level: int = 0
    project: str | None = None
    # Of a commit; without one, the lake no longer has it.
    dataset: str | None = None
    # Of a commit that is a version of a model.
    version: int | None = None
    # Of a run; the message of a commit.
    name: str | None = None
    state: str | None = None
    job: str | None = None
    at: datetime | None = None
    is_gone: bool = False
    more_up: bool = False
    more_down: bool = False


@dataclass(frozen=True, slots=True)
class LineageLink:
    """From what was there first to what came of it. `role`: input, code, made, parent."""

    source: NodeKey
    target: NodeKey
    role: str


@dataclass(frozen=True, slots=True)
class LineageGraph:
    """`is_cut`: there are more nodes than were asked for."""

    root: NodeKey
    nodes: tuple[LineageNode, ...]
    links: tuple[LineageLink, ...] = field(default=())
    is_cut: bool = False
