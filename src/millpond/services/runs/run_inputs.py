"""Datasets that runs have said they read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from millpond.db import runs
from millpond.db.runs import RunFilter
from millpond.model.people import Project
from millpond.services.deps import Deps

# Looked for in so many of the newest runs.
_RUNS = 5_000
_MOST = 1_000
_CONTEXT = "mlflow.data.context"


@dataclass(frozen=True, slots=True)
class DatasetUse:
    experiment: str
    name: str
    digest: str
    # What it was used for: training, evaluation.
    context: str


def datasets_of(deps: Deps, project: Project, experiments: Collection[str]) -> Sequence[DatasetUse]:
    """Each once, those of the newest runs first."""
    chosen = RunFilter(projects=[project.id], experiments=experiments, deleted=False)
    with deps.db.read() as tx:
        found = runs.page(tx, chosen, limit=_RUNS)
        records = runs.records(tx, [run.id for run in found])
    uses: dict[DatasetUse, None] = {}
    for run in found:
        for one in records[run.id].inputs if run.id in records else ():
            if one.get("digest"):
                context = str((one.get("tags") or {}).get(_CONTEXT, ""))
                uses[DatasetUse(run.experiment, str(one.get("name", "")), str(one["digest"]), context)] = None
    return list(uses)[:_MOST]
