"""Runs of an MLflow server, database or `mlruns` folder, read by MLflow's own client."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millpond.client.run_import.found import FoundFile, FoundRun, SourceProblem
from millpond.errors import BadRequest, NotFound
from millpond.model.run import DEFAULT_EXPERIMENT, RunState
from millpond.model.series import Points

_PARENT_TAG = "mlflow.parentRunId"
_NOTE_TAG = "mlflow.note.content"
_NAME_TAG = "mlflow.runName"
_DEFAULT = "Default"
_PAGE = 200
_STATES = {"FINISHED": RunState.SUCCEEDED, "FAILED": RunState.FAILED, "KILLED": RunState.CANCELLED}


class MlflowSource:
    """`uri` is what MLFLOW_TRACKING_URI would be: a server, `sqlite:///mlflow.db`, or a folder."""

    def __init__(self, uri: str, experiments: Sequence[str] = ()) -> None:
        self.uri = _located(uri)
        mlflow = _mlflow()
        self.written = uri
        self._wanted = list(experiments)
        self._mlflow = mlflow
        self.client: Any = self._asked(lambda: mlflow.MlflowClient(tracking_uri=self.uri, registry_uri=self.uri))

    def runs(self) -> Iterator[FoundRun]:
        told: set[str] = set()
        for experiment in self._experiments():
            name = DEFAULT_EXPERIMENT if experiment.name == _DEFAULT else experiment.name
            token: str | None = None
            while True:
                page = self.client.search_runs(
                    [experiment.experiment_id], order_by=["attributes.start_time ASC"], max_results=_PAGE,
                    page_token=token,
                )  # fmt: skip
                for run in page:
                    yield from self._with_parents(run, name, told)
                token = page.token
                if not token:
                    break

    def history(self, run: FoundRun, key: str) -> Points:
        with _foreign():
            found = self.client.get_metric_history(run.id, key)
        return Points.of(
            (one.step for one in found), (one.value for one in found), (one.timestamp for one in found)
        )  # fmt: skip

    def files(self, run: FoundRun) -> Iterator[FoundFile]:
        """Its artifacts; and models that it has logged, each below its name."""
        yield from self._below(lambda path: self.client.list_artifacts(run.id, path), "run")
        with _foreign():
            found = self.client.get_run(run.id)
        outputs = getattr(getattr(found, "outputs", None), "model_outputs", None) or ()
        for output in outputs:
            with _foreign():
                model = self.client.get_logged_model(output.model_id)

            def listed(path: str | None, model_id: str = output.model_id) -> Any:
                return self.client.list_logged_model_artifacts(model_id, path)

            for file in self._below(listed, model.artifact_location):
                yield FoundFile(f"{model.name}/{file.path}", file.size, f"{model.artifact_location}\n{file.path}")

    @contextmanager
    def fetched(self, run: FoundRun, file: FoundFile) -> Iterator[Path]:
        location, _, path = file.place.partition("\n")
        with tempfile.TemporaryDirectory(prefix="mill-import-") as folder:
            asked: dict[str, Any] = {"dst_path": folder, "tracking_uri": self.uri}
            if location == "run":
                asked |= {"run_id": run.id, "artifact_path": path}
            else:
                asked |= {"artifact_uri": f"{location}/{path}"}
            yield self._downloaded(**asked)

    @contextmanager
    def fetched_version(self, name: str, version: str) -> Iterator[Path]:
        """The folder of a registered version's files."""
        with _foreign():
            location = self.client.get_model_version_download_uri(name, version)
        with tempfile.TemporaryDirectory(prefix="mill-import-") as folder:
            yield self._downloaded(artifact_uri=location, dst_path=folder, tracking_uri=self.uri)

    def _downloaded(self, **asked: Any) -> Path:
        with _foreign():
            return Path(self._mlflow.artifacts.download_artifacts(**asked))

    def _experiments(self) -> Sequence[Any]:
        found: list[Any] = self._asked(lambda: list(self._pages(self.client.search_experiments)))
        if not self._wanted:
            return found
        names = {one.name: one for one in found} | {one.experiment_id: one for one in found}
        for name in self._wanted:
            if name not in names:
                known = ", ".join(sorted(one.name for one in found)[:20])
                raise NotFound(f"{self.written} has no experiment {name!r}.", hint=f"It has: {known}.")
        return [names[name] for name in self._wanted]

    def _pages(self, search: Any) -> Iterator[Any]:
        token: str | None = None
        while True:
            page = search(max_results=_PAGE, page_token=token)
            yield from page
            token = page.token
            if not token:
                return

    def models(self) -> Iterator[Any]:
        return self._pages(self.client.search_registered_models)

    def versions(self, name: str) -> Sequence[Any]:
        """Oldest first."""
        written = name.replace("'", "''")
        found = self.client.search_model_versions(f"name='{written}'", max_results=10_000)
        return sorted(found, key=lambda one: int(one.version))

    def _with_parents(self, run: Any, experiment: str, told: set[str]) -> Iterator[FoundRun]:
        """A run after the one it is inside of, wherever that is."""
        if run.info.run_id in told:
            return
        told.add(run.info.run_id)
        parent = run.data.tags.get(_PARENT_TAG)
        if parent and parent not in told:
            try:
                yield from self._with_parents(self.client.get_run(parent), experiment, told)
            except self._mlflow.MlflowException:
                parent = None  # it was deleted for good
        yield _found(run, experiment, parent)

    def _below(self, listed: Any, location: str) -> Iterator[FoundFile]:
        waiting: list[str | None] = [None]
        while waiting:
            with _foreign():
                found = listed(waiting.pop())
            for one in found:
                if one.is_dir:
                    waiting.append(one.path)
                else:
                    yield FoundFile(one.path, one.file_size, f"{location}\n{one.path}")

    def _asked(self, ask: Any) -> Any:
        try:
            return ask()
        except self._mlflow.MlflowException as error:
            raise BadRequest(f"Cannot read {self.written}: {' '.join(str(error).split())[:400]}") from error
        except (ModuleNotFoundError, ImportError) as error:
            raise BadRequest(
                f"Cannot read {self.written}: {error}.", hint="Databases and folders need: pip install mlflow"
            ) from error


@contextmanager
def _foreign() -> Iterator[None]:
    """The client, and the stores that it reads artifacts from, raise whatever their libraries do."""
    try:
        yield
    except Exception as error:
        raise SourceProblem(" ".join(str(error).split())[:300] or type(error).__name__) from error


def _found(run: Any, experiment: str, parent: str | None) -> FoundRun:
    tags = dict(run.data.tags)
    special = (_PARENT_TAG, _NOTE_TAG, _NAME_TAG)
    return FoundRun(
        id=run.info.run_id,
        name=run.info.run_name or run.info.run_id,
        experiment=experiment,
        started_at=_moment(run.info.start_time),
        ended_at=_moment(run.info.end_time),
        state=_STATES.get(run.info.status),
        parent=parent,
        params=dict(run.data.params),
        tags={key: value for key, value in tags.items() if key not in special},
        notes=tags.get(_NOTE_TAG, ""),
        inputs=[_input(one) for one in (run.inputs.dataset_inputs if run.inputs else ())],
        metrics=sorted(run.data.metrics),
    )


def _input(value: Any) -> dict[str, Any]:
    dataset = value.dataset
    fields = ("name", "digest", "source_type", "source", "schema", "profile")
    found = {name: text for name in fields if (text := getattr(dataset, name, None))}
    return {**found, "tags": {tag.key: tag.value for tag in value.tags or ()}}


def _moment(milliseconds: int | None) -> datetime | None:
    return datetime.fromtimestamp(milliseconds / 1000, UTC) if milliseconds else None


def _located(uri: str) -> str:
    """BadRequest for a folder or database that is not there: the client would create it."""
    if ":/" not in uri:
        folder = Path(uri).expanduser()
        if not folder.is_dir():
            raise BadRequest(f"{uri} is not a folder.", hint="Name the folder mlruns, a database, or a server.")
        return folder.resolve().as_uri()
    scheme, _, file = uri.partition(":///")
    if scheme in ("sqlite", "file") and not Path(f"/{file}" if scheme == "file" else file).exists():
        raise BadRequest(f"{uri} does not exist.", hint="An absolute path has four slashes: sqlite:////data/mlflow.db")
    return uri


def _mlflow() -> Any:
    """Quiet, and willing to read folders, which newer releases do not write any more."""
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    logging.getLogger("alembic").setLevel(logging.ERROR)
    try:
        import mlflow  # noqa: PLC0415 - read only here, and not needed by anything else
        import mlflow.artifacts  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise BadRequest("The package mlflow is not installed.", hint="Install it: pip install mlflow") from error
    return mlflow
