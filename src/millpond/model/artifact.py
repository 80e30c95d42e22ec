"""Artifacts: files that a run keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Artifact:
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class ArtifactEntry:
    """One name in a folder of a run's artifacts."""

    name: str
    is_folder: bool
    size: int
