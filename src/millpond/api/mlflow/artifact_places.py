"""Paths of the artifact store that MLflow's clients see: artifacts of runs, and files of versions of models.

PROJECT/RUN/artifacts/PATH         as a run's `artifact_uri` says
PROJECT/models/MODEL-ID/3/PATH     as the download URI of a version says; names of models may change, ids do not
"""

from __future__ import annotations

from dataclasses import dataclass

from millpond.api.mlflow.endpoint import Call
from millpond.decide.models import version_number
from millpond.errors import NotFound


@dataclass(frozen=True, slots=True)
class RunPlace:
    run_id: str
    path: str


@dataclass(frozen=True, slots=True)
class VersionPlace:
    """Read only: versions do not change."""

    model_id: str
    number: int
    path: str


def located(call: Call, path: str) -> RunPlace | VersionPlace:
    """What a path of the artifact store means."""
    project, owner, kind, *inner = [*path.strip("/").split("/"), "", "", ""]
    rest = "/".join(inner).rstrip("/")
    if project == call.project.name and owner and kind == "artifacts":
        return RunPlace(owner, rest)
    version, _, below = rest.partition("/")
    number = version_number(version)
    if project == call.project.name and owner == "models" and kind and number is not None:
        return VersionPlace(kind, number, below)
    raise NotFound(f"No artifact {path[:200]!r}: artifacts lie at PROJECT/RUN/artifacts/PATH.")
