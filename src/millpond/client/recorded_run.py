"""Runs that were recorded, read and changed from Python: what `mill run show`, `metrics`, `tag` and the others do."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millpond.client import runs as run_requests
from millpond.client.artifacts import download_artifacts, list_artifacts
from millpond.client.credentials import ServerTarget, resolve_target
from millpond.client.http import Api
from millpond.client.lineage import get_graph
from millpond.client.run_tables import load_pandas
from millpond.errors import NotFound
from millpond.model.run import RunState
from millpond.model.series import LEAST_STEP, MOST_STEP
from millpond.wire.lineage import LineageGraph
from millpond.wire.runs import Artifact, MetricSummary, RunDetails, RunEdit, Series

if TYPE_CHECKING:
    import pandas


class RecordedRun:
    """A run as it was when it was asked for; `refresh` asks again. Made by `millpond.get_run`."""

    def __init__(self, target: ServerTarget, found: RunDetails) -> None:
        self._target = target
        self._found = found

    @property
    def id(self) -> str:
        return self._found.id

    @property
    def name(self) -> str:
        return self._found.name

    @property
    def project(self) -> str:
        return self._found.project

    @property
    def experiment(self) -> str:
        return self._found.experiment

    @property
    def state(self) -> RunState:
        return self._found.state

    @property
    def job(self) -> str | None:
        """The id of its job; None for the run of a script."""
        return self._found.job

    @property
    def parent(self) -> str | None:
        return self._found.parent

    @property
    def started_at(self) -> datetime:
        return self._found.started_at

    @property
    def ended_at(self) -> datetime | None:
        return self._found.ended_at

    @property
    def params(self) -> Mapping[str, Any]:
        return self._found.params

    @property
    def tags(self) -> Mapping[str, str]:
        return self._found.tags

    @property
    def metrics(self) -> Mapping[str, float]:
        """The last value of each metric."""
        return {key: one.last for key, one in self._found.summaries.items()}

    @property
    def summaries(self) -> Mapping[str, MetricSummary]:
        """Last, least and greatest value of each metric, with their steps."""
        return self._found.summaries

    @property
    def notes(self) -> str:
        return self._found.notes

    @property
    def origin(self) -> Mapping[str, Any]:
        """Where it comes from: command, Git, host, Python, packages, image."""
        return self._found.origin

    @property
    def inputs(self) -> Sequence[Mapping[str, Any]]:
        """Commits that a script has read."""
        return self._found.inputs

    def history(
        self, *keys: str, start: int | None = None, end: int | None = None, limit: int | None = None
    ) -> pandas.DataFrame:
        """Points of metrics as a data frame of pandas: key, step, value, time. All points, or at most `limit` of each.

        Without keys, those of all metrics. NotFound for a key that the run does not have.
        """
        frames = load_pandas("Run.history()")
        check_keys(self._found, keys)
        with self._api() as api:
            found = list(self._series(api, keys or tuple(self._found.summaries), start, end, limit))
        columns: dict[str, list[Any]] = {"key": [], "step": [], "value": [], "time": []}
        for one in found:
            columns["key"] += [one.key] * len(one.steps)
            columns["step"] += one.steps
            columns["value"] += one.values
            columns["time"] += one.times
        frame = frames.DataFrame(columns | {"time": frames.to_datetime(columns["time"], unit="ms", utc=True)})
        low, high = LEAST_STEP if start is None else start, MOST_STEP if end is None else end
        return frame[frame["step"].between(low, high)].reset_index(drop=True)

    def artifacts(self, path: str = "") -> list[Artifact]:
        """The files that it has kept, or those below a folder."""
        with self._api() as api:
            return list(list_artifacts(api, self.project, self.id, path))

    def download_artifacts(self, to: str | os.PathLike[str] = ".", path: str = "") -> Path:
        """Write its files, or the file or folder `path`, into the folder `to`; that folder."""
        with self._api() as api:
            download_artifacts(api, self.project, self.id, Path(to), path=path)
        return Path(to)

    def lineage(self, *, direction: str = "both", depth: int = 4, limit: int = 200) -> LineageGraph:
        """What it was made from, and what was made of its results."""
        with self._api() as api:
            return get_graph(api, self.project, run=self.id, direction=direction, depth=depth, limit=limit)

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        """Set tags; None removes one."""
        self._edit(RunEdit(tags={key: None if value is None else str(value) for key, value in tags.items()}))

    def set_note(self, text: str) -> None:
        self._edit(RunEdit(notes=text))

    def delete(self) -> None:
        """Move it to the bin, from which `undelete` restores it."""
        with self._api() as api:
            run_requests.delete_run(api, self.project, self.id)

    def undelete(self) -> None:
        with self._api() as api:
            run_requests.undelete_run(api, self.project, self.id)

    def refresh(self) -> None:
        """Read it again."""
        with self._api() as api:
            self._found = run_requests.get_run(api, self.project, self.id)

    def __repr__(self) -> str:
        return f"<millpond.RecordedRun {self.name!r} ({self.id}) of {self.project}: {self.state.value}>"

    def _series(
        self, api: Api, keys: Sequence[str], start: int | None, end: int | None, limit: int | None
    ) -> Iterator[Series]:
        if limit is not None:
            yield from run_requests.get_metrics(api, self.project, self.id, keys, limit, start, end).items
            return
        for key in keys:
            yield from run_requests.metric_history(api, self.project, self.id, key)

    def _edit(self, change: RunEdit) -> None:
        with self._api() as api:
            self._found = run_requests.edit_run(api, self.project, self.id, change)

    def _api(self) -> Api:
        return Api(self._target.server, self._target.token)


def get_run(run: str, *, project: str | None = None) -> RecordedRun:
    """A recorded run, by id, beginning of an id, or name. NotFound names the nearest."""
    with _reading(project) as (api, target):
        found = run_requests.find_run(api, target.project, run)
        return RecordedRun(target, run_requests.get_run(api, target.project, found.id))


def compare_runs(
    *runs: str, project: str | None = None, everything: bool = False
) -> pandas.DataFrame:  # fmt: skip
    """What differs between runs, as a data frame: a row for each parameter, tag and last metric, a column for each run.

    With `everything`, what does not differ, too.
    """
    frames = load_pandas("millpond.compare_runs()")
    with _reading(project) as (api, target):
        found = run_requests.compare_runs(
            api, target.project, [run_requests.find_run(api, target.project, one).id for one in runs]
        )
    kinds = (("params", found.params), ("tags", found.tags), ("metrics", found.metrics))
    rows = {
        f"{kind}.{row.key}": row.values for kind, rows in kinds for row in rows if row.differs or everything
    }  # fmt: skip
    return frames.DataFrame.from_dict(rows, orient="index", columns=[run.id for run in found.runs])


def check_keys(run: RunDetails, keys: Sequence[str]) -> None:
    """NotFound, with the nearest, for a metric that the run does not have."""
    for key in keys:
        if key not in run.summaries:
            near = difflib.get_close_matches(key, run.summaries, n=3, cutoff=0.5)
            known = ", ".join(sorted(run.summaries)[:10]) or "none"
            hint = f"Did you mean {', '.join(map(repr, near))}?" if near else f"Its metrics: {known}."
            raise NotFound(f"Run {run.name} ({run.id}) has no metric {key!r}.", hint=hint, near=near)


@contextmanager
def _reading(project: str | None) -> Iterator[tuple[Api, ServerTarget]]:
    target = resolve_target(project=project)
    with Api(target.server, target.token) as api:
        yield api, target
