"""`millpond.Model`, `models` and `register_model`: versions of models, for scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from millpond.client import models as calls
from millpond.client.credentials import resolve_target
from millpond.client.dataset import Dataset
from millpond.client.flows.flow import FlowRun
from millpond.client.http import Api
from millpond.model.model import ModelStage, split_written
from millpond.wire.models import BatchPrediction, ModelCheck, ModelVersion, ModelVersionChange
from millpond.wire.models import Model as ListedModel


class Model:
    """A version of a model: `chest@3`, `chest@champion`, or `chest` for the newest, which it stays.

    What is known of it (`version`, `metrics`, `aliases`, `run` …) are attributes, as they were when it was last read.
    """

    def __init__(self, name: str, *, server: str | None = None, project: str | None = None) -> None:
        model, version = split_written(name)
        target = resolve_target(server, project)
        self._target = target
        self._api = Api(target.server, target.token)
        self.info: ModelVersion = calls.get_version(self._api, target.project, model, version)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "info":
            raise AttributeError(name)
        return getattr(self.info, name)

    def path(self) -> Path:
        """A local folder with its files, not to be changed: a job's input, a volume near, or a copy fetched once."""
        return self.dataset().path()

    def dataset(self) -> Dataset:
        """Its files, to be listed and read one by one."""
        return Dataset(f"{self.info.dataset}@{self.info.commit}", server=self._api.base_url, project=self.info.project)

    def download(self, to: Path | str) -> Path:
        """Write its files into a folder of one's own."""
        return calls.download_version(self._api, self.info, Path(to))

    def check(self, *, on: str | None = None, environment: bool = True, timeout: float | None = None) -> ModelCheck:
        """Load and run it in a job, and wait for what was found out. Endpoints serve versions that passed."""
        info = self.info
        started = calls.check_version(
            self._api, info.project, info.model, str(info.version), on=on, environment=environment
        )  # fmt: skip
        self.info = calls.wait_for_check(self._api, started, timeout=timeout)
        assert self.info.check is not None
        return self.info.check

    def set_alias(self, alias: str) -> None:
        """Let the alias point to this version, wherever it pointed before."""
        self.info = calls.set_alias(self._api, self.info.project, self.info.model, alias, str(self.info.version))

    def set_stage(self, stage: str, *, archive_others: bool = False) -> None:
        """None, Staging, Production or Archived."""
        self._change(ModelVersionChange(stage=ModelStage(stage), archive_others=archive_others))

    def set_tags(self, tags: Mapping[str, str | None]) -> None:
        """A tag of None is removed."""
        self._change(ModelVersionChange(tags=dict(tags)))

    def describe(self, description: str) -> None:
        self._change(ModelVersionChange(description=description))

    def predict(
        self, input: str, output: str, *, shards: int = 1, columns: Sequence[str] = (), max_errors: int = 0,
        on: str | None = None, environment: bool = True,
    ) -> FlowRun:  # fmt: skip
        """Predict a dataset (`dataset@ref`) and commit the predictions to `output`, once all of them are there.

        Returns the run of the flow that does it: `.wait()` for its end.
        """
        asked = BatchPrediction(
            input=input, output=output, shards=shards, columns=list(columns), max_errors=max_errors, on=on,
            environment=environment,
        )  # fmt: skip
        info = self.info
        started = calls.predict_batch(self._api, info.project, info.model, str(info.version), asked)
        return FlowRun.of(self._target, started)

    def __repr__(self) -> str:
        return f"Model('{self.info.project}/{self.info.model}@{self.info.version}')"

    def _change(self, change: ModelVersionChange) -> None:
        info = self.info
        self.info = calls.change_version(self._api, info.project, info.model, str(info.version), change)


def models(
    search: str | None = None, *, project: str | None = None, server: str | None = None
) -> list[ListedModel]:  # fmt: skip
    """Models of the project, by name, each with its aliases and newest version."""
    target = resolve_target(server, project)
    with Api(target.server, target.token) as api:
        return list(calls.list_models(api, target.project, search=search))


def register_model(
    name: str, source: str | Path, *, description: str = "", tags: Mapping[str, str] | None = None,
    aliases: Sequence[str] = (), metrics: Mapping[str, float] | None = None, params: Mapping[str, str] | None = None,
    signature: Mapping[str, object] | None = None, run: str | None = None, project: str | None = None,
    server: str | None = None,
) -> Model:  # fmt: skip
    """Register the next version of a model, which is created if there is none of that name.

    `source` is a folder here, `RUN:path` among a run's artifacts, `dataset@ref:path`, or `.outputs@JOB:path`. Metrics
    and parameters are those of the run, unless they are given.
    """
    target = resolve_target(server, project)
    with Api(target.server, target.token) as api:
        made = calls.register_version(
            api, target.project, name, source, description=description, tags=tags, aliases=aliases, metrics=metrics,
            params=params, signature=signature, run=run,
        )  # fmt: skip
    return Model(f"{made.model}@{made.version}", server=target.server, project=target.project)
