"""Writing a run that was found elsewhere: created under the id it has there, then all that the server lacks of it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from millpond.client.artifacts import list_artifacts, send_artifacts
from millpond.client.http import Api
from millpond.client.run_import.found import FoundFile, FoundRun, ImportSummary, RunSource, SourceProblem
from millpond.client.runs import create_run, edit_run, get_run, metric_history, send_batch, send_points
from millpond.client.transfer import ApiUploader
from millpond.errors import BadRequest, Invalid, NameTaken, NotFound, TooLarge
from millpond.model.ids import new_id
from millpond.model.run import MAX_KEY, MAX_NAME
from millpond.model.series import Points
from millpond.wire.points import MOST_POINTS, encode_points
from millpond.wire.runs import RunCreate, RunDetails, RunEdit

SOURCE_TAG = "imported.from"
# Set last, so that a run without it is looked at again.
DONE_TAG = "imported.end"
_ID = re.compile(r"[0-9a-z]{8,32}")
_FILES_AT_ONCE = 200
_BYTES_AT_ONCE = 256 << 20
_REFUSED = (BadRequest, Invalid, TooLarge)


class RunWriter:
    """Writes the runs of one source into one project."""

    def __init__(self, api: Api, project: str, source: RunSource, summary: ImportSummary) -> None:
        self._api = api
        self._project = project
        self._source = source
        self._summary = summary

    def id_here(self, found_id: str) -> str | None:
        """The id that a run of the source has here; None if it was not imported."""
        known = self._known(found_id)
        return known.id if known else None

    def count(self, found: FoundRun) -> None:
        """What `write` would do."""
        known = self._known(found.id)
        if known is None:
            self._summary.runs_new += 1
        elif _is_done(known, found):
            self._summary.runs_unchanged += 1
        else:
            self._summary.runs_updated += 1

    def write(self, found: FoundRun) -> None:
        """Create the run, or bring it up to date. What is refused becomes a problem of the summary."""
        known = self._known(found.id)
        if known is not None and _is_done(known, found):
            self._summary.runs_unchanged += 1
            return
        problems = len(self._summary.problems)
        run_id = known.id if known is not None else self._create(found)
        self._describe(run_id, found)
        for key in found.metrics:
            self._write_points(run_id, found, key, known)
        self._write_files(run_id, found)
        self._end(run_id, found, whole=len(self._summary.problems) == problems)
        if known is None:
            self._summary.runs_new += 1
        else:
            self._summary.runs_updated += 1

    def _create(self, found: FoundRun) -> str:
        request = RunCreate(
            id=self._own_id(found.id), name=found.name[:MAX_NAME] or None, experiment=found.experiment,
            parent=self.id_here(found.parent) if found.parent else None, started_at=found.started_at,
        )  # fmt: skip
        try:
            return create_run(self._api, self._project, request).id
        except NameTaken:  # by a run of another project
            other = request.model_copy(update={"id": self._made_id(found.id)})
            return create_run(self._api, self._project, other).id

    def _describe(self, run_id: str, found: FoundRun) -> None:
        tags = {**found.tags, SOURCE_TAG: self._source.written}
        self._report(run_id, {"params": dict(found.params), "tags": tags, "inputs": list(found.inputs)}, found)
        if found.notes:
            edit_run(self._api, self._project, run_id, RunEdit(notes=found.notes))

    def _report(self, run_id: str, values: Mapping[str, Any], found: FoundRun) -> None:
        """All at once; one by one if the server refuses one of them."""
        try:
            self._send(run_id, values)
        except _REFUSED:
            for field in ("params", "tags"):
                for key, value in values[field].items():
                    try:
                        self._send(run_id, {field: {key: value}})
                    except _REFUSED as error:
                        self._problem(found, f"{field[:-1]} {key[:100]!r}: {error.message}")

    def _send(self, run_id: str, values: Mapping[str, Any]) -> None:
        send_batch(self._api, self._project, run_id, {**values, "writer": f"import-{new_id()}", "sequence": 0})

    def _write_points(self, run_id: str, found: FoundRun, key: str, known: RunDetails | None) -> None:
        if len(key) > MAX_KEY:
            self._problem(found, f"metric {key[:50]!r}: its name is longer than {MAX_KEY} characters")
            return
        try:
            points = self._source.history(found, key)
        except SourceProblem as error:
            self._problem(found, f"metric {key!r}: {error}")
            return
        if known is not None:
            points = _without(points, self._stored(run_id, key))
        writer = f"import-{new_id()}"
        for number, begin in enumerate(range(0, len(points), MOST_POINTS)):
            part = points.cut(begin, begin + MOST_POINTS)
            send_points(self._api, self._project, run_id, encode_points(writer, number, {key: part}))
        self._summary.points += len(points)

    def _stored(self, run_id: str, key: str) -> Counter[tuple[int, str, int]]:
        found: Counter[tuple[int, str, int]] = Counter()
        try:
            for series in metric_history(self._api, self._project, run_id, key):
                values = (float(value) if value is not None else float("nan") for value in series.values)
                columns = zip(series.steps, values, series.times, strict=True)
                found.update((step, repr(value), at) for step, value, at in columns)
        except NotFound:  # no point of it has come yet
            pass
        return found

    def _write_files(self, run_id: str, found: FoundRun) -> None:
        try:
            here = {one.path: one.size for one in list_artifacts(self._api, self._project, run_id)}
            files = [one for one in self._source.files(found) if one.size is None or here.get(one.path) != one.size]
            for group in _groups(files):
                self._send_files(run_id, found, group)
        except SourceProblem as error:
            self._problem(found, f"artifacts: {error}")

    def _send_files(self, run_id: str, found: FoundRun, files: list[FoundFile]) -> None:
        with ExitStack() as kept:
            here: dict[str, Path] = {}
            for one in files:
                try:
                    here[one.path] = kept.enter_context(self._source.fetched(found, one))
                except SourceProblem as error:
                    self._problem(found, f"artifact {one.path[:200]!r}: {error}")
            sent = self._sent(run_id, found, here)
            self._summary.files += len(sent)
            self._summary.bytes += sum(path.stat().st_size for path in sent.values())

    def _sent(self, run_id: str, found: FoundRun, files: Mapping[str, Path]) -> Mapping[str, Path]:
        """Those that the server has taken: all of them, or all but those that it refuses."""
        if not files:
            return {}
        try:
            with ApiUploader(self._api, self._project) as uploader:
                send_artifacts(uploader, self._api, self._project, run_id, files)
            return files
        except _REFUSED as error:
            if len(files) == 1:
                self._problem(found, f"artifact {next(iter(files))[:200]!r}: {error.message}")
                return {}
        return {name: path for one in files.items() for name, path in self._sent(run_id, found, dict([one])).items()}

    def _end(self, run_id: str, found: FoundRun, *, whole: bool) -> None:
        values: dict[str, Any] = {}
        if found.state is not None:
            values = {"ended": found.state.value}
            if found.ended_at is not None:
                values["ended_at"] = found.ended_at.isoformat()
            if whole:
                values["tags"] = {DONE_TAG: _end_of(found)}
        if values:
            self._send(run_id, values)

    def _known(self, found_id: str) -> RunDetails | None:
        """Under its own id, or (if another project has that) under one made of it."""
        for run_id in dict.fromkeys((self._own_id(found_id), self._made_id(found_id))):
            try:
                return get_run(self._api, self._project, run_id)
            except NotFound:
                continue
        return None

    def _own_id(self, found_id: str) -> str:
        return found_id if _ID.fullmatch(found_id) else self._made_id(found_id)

    def _made_id(self, found_id: str) -> str:
        """The same each time, and another in each project."""
        return hashlib.sha256(f"{self._project}\n{found_id}".encode()).hexdigest()[:32]

    def _problem(self, found: FoundRun, text: str) -> None:
        self._summary.problems.append(f"run {found.name} ({found.id}): {text}")


def _is_done(run: RunDetails, found: FoundRun) -> bool:
    return found.state is not None and run.tags.get(DONE_TAG) == _end_of(found)


def _end_of(found: FoundRun) -> str:
    """Changes when a run of the source has gone on since."""
    state = found.state.value if found.state else ""
    return f"{state} {found.ended_at.isoformat() if found.ended_at else ''}".strip()


def _without(points: Points, stored: Counter[tuple[int, str, int]]) -> Points:
    """Those that are not stored yet, each as often as it lacks."""
    left = Counter(stored)
    kept = []
    for place, one in enumerate(zip(points.steps, points.values, points.times, strict=True)):
        key = (one[0], repr(one[1]), one[2])
        if left[key]:
            left[key] -= 1
        else:
            kept.append(place)
    return points.take(kept)


def _groups(files: list[FoundFile]) -> Iterator[list[FoundFile]]:
    """So many that little of them lies on this machine at once."""
    group: list[FoundFile] = []
    size = 0
    for one in files:
        if group and (len(group) >= _FILES_AT_ONCE or size + (one.size or 0) > _BYTES_AT_ONCE):
            yield group
            group, size = [], 0
        group.append(one)
        size += one.size or 0
    if group:
        yield group
