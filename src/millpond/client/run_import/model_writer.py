"""Writing registered models of MLflow: their versions in order, with files, stages and aliases."""

from __future__ import annotations

from typing import Any

from millpond.client.http import Api
from millpond.client.models import (
    change_model,
    change_version,
    create_model,
    get_model,
    list_versions,
    register_version,
    set_alias,
)
from millpond.client.run_import.found import ImportSummary, SourceProblem
from millpond.client.run_import.mlflow_source import MlflowSource
from millpond.client.run_import.run_writer import SOURCE_TAG, RunWriter
from millpond.errors import MillError, NotFound
from millpond.model.model import ModelStage
from millpond.wire.models import ModelChange, ModelCreate, ModelVersion, ModelVersionChange

# The number that a version has at its source: ours may differ, where some were deleted there.
VERSION_TAG = "imported.version"
_STAGES = {stage.value: stage for stage in ModelStage}


class ModelWriter:
    def __init__(self, api: Api, project: str, source: MlflowSource, runs: RunWriter, summary: ImportSummary) -> None:
        self._api = api
        self._project = project
        self._source = source
        self._runs = runs
        self._summary = summary

    def write(self, model: Any, *, dry_run: bool = False) -> None:
        """Create the model and the versions that it lacks; point its aliases as they point at the source."""
        known = self._known(model.name)
        if known is None:
            self._summary.models_new += 1
            if not dry_run:
                asked = ModelCreate(name=model.name, description=model.description or "", tags=dict(model.tags))
                create_model(self._api, self._project, asked)
        elif not dry_run and model.tags:
            change_model(self._api, self._project, model.name, ModelChange(tags=dict(model.tags)))
        here = known or {}
        for version in self._source.versions(model.name):
            if str(version.version) in here:
                self._summary.versions_unchanged += 1
                continue
            self._summary.versions_new += 1
            if not dry_run:
                here[str(version.version)] = self._register(model.name, version)
        if not dry_run:
            self._point(model, here)

    def _known(self, name: str) -> dict[str, ModelVersion] | None:
        """Versions by their number at the source; None if there is no such model."""
        try:
            get_model(self._api, self._project, name)
        except NotFound:
            return None
        found = list_versions(self._api, self._project, name)
        written = self._source.written
        return {
            one.tags[VERSION_TAG]: one
            for one in found
            if VERSION_TAG in one.tags and one.tags.get(SOURCE_TAG) == written
        }

    def _register(self, name: str, version: Any) -> ModelVersion:
        """With its files; if they cannot be read, with the place where they are."""
        tags = {**version.tags, SOURCE_TAG: self._source.written, VERSION_TAG: str(version.version)}
        run = (self._runs.id_here(version.run_id) or version.run_id) if version.run_id else None
        said: dict[str, Any] = {"description": version.description or "", "tags": tags, "run": run}
        try:
            with self._source.fetched_version(name, str(version.version)) as folder:
                made = register_version(self._api, self._project, name, folder, **said)
        except SourceProblem as error:
            problem = f"its files are not imported, only their place is noted: {error}"
            self._summary.problems.append(f"model {name}, version {version.version}: {problem}")
            made = register_version(self._api, self._project, name, _uri(version.source), **said)
        if version.current_stage in _STAGES and version.current_stage != ModelStage.NONE.value:
            change = ModelVersionChange(stage=_STAGES[version.current_stage])
            made = change_version(self._api, self._project, name, str(made.version), change)
        return made

    def _point(self, model: Any, here: dict[str, ModelVersion]) -> None:
        for alias, number in dict(model.aliases).items():
            target = here.get(str(number))
            if target is None or alias in target.aliases:
                continue
            try:
                set_alias(self._api, self._project, model.name, alias, str(target.version))
            except MillError as error:
                self._summary.problems.append(f"model {model.name}, alias {alias}: {error.message}")


def _uri(source: str) -> str:
    """As a URI of another store: a bare path, or one of that server's own, would be taken for something of ours."""
    return source if "://" in source else f"mlflow://{source}"
