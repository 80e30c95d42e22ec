"""Lineage: which job, run, import or merge made which commit from which commits, as edges."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class LineageRole(Enum):
    """What a source was to what was made from it."""

    INPUT = "input"
    CODE = "code"
    PARENT = "parent"  # the version before, or a merged one
    ORIGIN = "origin"  # no commit: an import, or a job without inputs


class LineageDirection(Enum):
    UP = "up"  # what made this
    DOWN = "down"  # what was made from this


@dataclass(frozen=True, slots=True)
class Maker:
    """`kind` is job, run, import, merge, step, query, model or commit (a person's own commit, which has no id)."""

    kind: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class LineageEdge:
    """`made` is None for a job that has read its sources and made nothing of them (yet)."""

    source: str | None
    made: str | None
    role: LineageRole
    maker: Maker


@dataclass(frozen=True, slots=True)
class LineageCommit:
    """One end of an edge; without a dataset for a commit that the lake no longer has."""

    id: str
    project: str | None = None
    dataset: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class LineageStep:
    """An edge as people see it: `depth` counts from the commit that was asked about, from 1."""

    depth: int
    role: LineageRole
    source: LineageCommit | None
    made: LineageCommit | None
    maker: Maker
    # Of a job or run that is still known.
    maker_name: str | None = None
    maker_project: str | None = None


@dataclass(frozen=True, slots=True)
class Lineage:
    commit: LineageCommit
    direction: LineageDirection
    steps: tuple[LineageStep, ...]
    # There are more steps than were asked for.
    is_cut: bool = False
