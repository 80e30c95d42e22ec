"""What a source of runs tells, and what an import has done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from millpond.model.run import RunState
from millpond.model.series import Points


class SourceProblem(Exception):
    """Something of a source cannot be read; the rest of it can be."""


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run as its source tells it. `id` is the source's own."""

    id: str
    name: str
    experiment: str
    started_at: datetime | None = None
    ended_at: datetime | None = None
    # None: it has not ended.
    state: RunState | None = None
    parent: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
    inputs: Sequence[Mapping[str, Any]] = ()
    # Keys of its metrics.
    metrics: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class FoundFile:
    path: str
    # None: not known before it is fetched.
    size: int | None
    # What the source needs to fetch it.
    place: str


class RunSource(Protocol):
    """Its methods raise SourceProblem for what cannot be read."""

    # Where the runs come from, in words.
    written: str

    def runs(self) -> Iterator[FoundRun]:
        """Parents before the runs inside them."""
        ...

    def history(self, run: FoundRun, key: str) -> Points:
        """Every point of a metric, in the order it was logged."""
        ...

    def files(self, run: FoundRun) -> Iterator[FoundFile]: ...

    def fetched(self, run: FoundRun, file: FoundFile) -> AbstractContextManager[Path]:
        """The file on this machine, while the context lasts."""
        ...


@dataclass
class ImportSummary:
    """What an import has done, or (dry run) would do."""

    runs_new: int = 0
    # Those that were imported before, and had more to tell.
    runs_updated: int = 0
    runs_unchanged: int = 0
    points: int = 0
    files: int = 0
    bytes: int = 0
    models_new: int = 0
    versions_new: int = 0
    versions_unchanged: int = 0
    # Sentences about what could not be imported; an import made again tries these again.
    problems: list[str] = field(default_factory=list)


# Told after each run, with what has been done so far.
Told = Callable[[ImportSummary], None]
