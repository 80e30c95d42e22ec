"""`import_mlflow` and `import_tensorboard`, for scripts and for `mill run import`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from millpond.client.credentials import resolve_target
from millpond.client.http import Api
from millpond.client.run_import.found import ImportSummary, RunSource, Told
from millpond.client.run_import.mlflow_source import MlflowSource
from millpond.client.run_import.model_writer import ModelWriter
from millpond.client.run_import.run_writer import RunWriter
from millpond.client.run_import.tensorboard_source import TensorboardSource
from millpond.errors import MillError


def import_mlflow(
    uri: str, *, project: str | None = None, experiments: Sequence[str] = (), dry_run: bool = False
) -> ImportSummary:
    """Import experiments, runs and registered models of an MLflow server, database or folder.

    Made again, it imports only what is new. With `experiments`, only runs of these, and no models.
    """
    target = resolve_target(project=project)
    with Api(target.server, target.token) as api:
        return take_mlflow(api, target.project, uri, experiments=experiments, dry_run=dry_run)


def import_tensorboard(
    folder: str | os.PathLike[str],
    *,
    project: str | None = None,
    experiment: str | None = None,
    dry_run: bool = False,
) -> ImportSummary:
    """Import TensorBoard's event files: each folder that has some is a run. Made again, it imports only what is new."""
    target = resolve_target(project=project)
    with Api(target.server, target.token) as api:
        return take_tensorboard(api, target.project, Path(folder), experiment=experiment, dry_run=dry_run)


def take_mlflow(
    api: Api,
    project: str,
    uri: str,
    *,
    experiments: Sequence[str] = (),
    dry_run: bool = False,
    told: Told | None = None,
) -> ImportSummary:
    source, summary = MlflowSource(uri, experiments), ImportSummary()
    runs = RunWriter(api, project, source, summary)
    _take_runs(runs, source, summary, dry_run=dry_run, told=told)
    writer = ModelWriter(api, project, source, runs, summary)
    for model in source.models() if not experiments else ():
        try:
            writer.write(model, dry_run=dry_run)
        except MillError as error:
            summary.problems.append(f"model {model.name}: {error.message}")
        if told:
            told(summary)
    return summary


def take_tensorboard(
    api: Api,
    project: str,
    folder: Path,
    *,
    experiment: str | None = None,
    dry_run: bool = False,
    told: Told | None = None,
) -> ImportSummary:
    summary = ImportSummary()
    source = TensorboardSource(folder, experiment, summary.problems)
    _take_runs(RunWriter(api, project, source, summary), source, summary, dry_run=dry_run, told=told)
    return summary


def _take_runs(
    writer: RunWriter, source: RunSource, summary: ImportSummary, *, dry_run: bool, told: Told | None
) -> None:
    for found in source.runs():
        if dry_run:
            writer.count(found)
        else:
            writer.write(found)
        if told:
            told(summary)
