"""TensorBoard's folders: each that has event files is a run, called by its path, as TensorBoard shows it."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millpond.client.run_import.event_files import read_records
from millpond.client.run_import.events import Event, EventValue, read_event
from millpond.client.run_import.found import FoundFile, FoundRun
from millpond.errors import BadRequest, Corrupt
from millpond.model.run import MAX_NAME, RunState
from millpond.model.series import Points

_FILES = "events.out.tfevents.*"
_UNSAFE = re.compile(r"[^\w./ -]")


@dataclass
class _Read:
    """All that the event files of one folder say."""

    points: dict[str, Points] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    first: float | None = None
    last: float | None = None

    def take(self, event: Event) -> None:
        if event.time:
            self.first = event.time if self.first is None else min(self.first, event.time)
            self.last = event.time if self.last is None else max(self.last, event.time)
        for value in event.values:
            self._take(event, value)

    def _take(self, event: Event, value: EventValue) -> None:
        self.params |= value.hparams
        if value.number is not None:
            series = self.points.setdefault(value.tag, Points())
            series.steps.append(event.step)
            series.values.append(value.number)
            series.times.append(round(event.time * 1000))
        if value.image is not None:
            kind = "jpg" if value.image.startswith(b"\xff\xd8") else "gif" if value.image[:3] == b"GIF" else "png"
            self.files[f"images/{_safe(value.tag)}/{event.step}.{kind}"] = value.image
        if value.text is not None:
            self.files[f"text/{_safe(value.tag)}/{event.step}.md"] = value.text.encode()


class TensorboardSource:
    """Damaged files become a problem; what they say before the damage counts."""

    def __init__(self, folder: Path, experiment: str | None, problems: list[str]) -> None:
        if not folder.is_dir():
            raise BadRequest(f"{folder} is not a folder.", hint="Name the folder that TensorBoard shows (--logdir).")
        self.written = str(folder)
        self._folder = folder.expanduser().resolve()
        self._experiment = (experiment or self._folder.name or "tensorboard")[:MAX_NAME]
        self._problems = problems
        # Of the run that is written now: they are asked for one after the other.
        self._read = _Read()

    def runs(self) -> Iterator[FoundRun]:
        folders = sorted({path.parent for path in self._folder.rglob(_FILES)})
        if not folders:
            raise BadRequest(f"{self.written} has no event files.", hint=f"They are called {_FILES}.")
        for folder in folders:
            files = sorted(folder.glob(_FILES))
            self._read = self._all_of(files)
            name = folder.relative_to(self._folder).as_posix()
            yield FoundRun(
                # The names of event files hold time, host and process: a run stays itself when its folder moves.
                id=hashlib.sha256(f"{name}\n{files[0].name}".encode()).hexdigest()[:32],
                name=self._folder.name if name == "." else name,
                experiment=self._experiment,
                started_at=_moment(self._read.first),
                ended_at=_moment(self._read.last),
                state=RunState.SUCCEEDED,
                params=self._read.params,
                metrics=sorted(self._read.points),
            )

    def history(self, run: FoundRun, key: str) -> Points:
        return self._read.points[key]

    def files(self, run: FoundRun) -> Iterator[FoundFile]:
        for path, content in self._read.files.items():
            yield FoundFile(path, len(content), path)

    @contextmanager
    def fetched(self, run: FoundRun, file: FoundFile) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="mill-import-") as folder:
            here = Path(folder) / "file"
            here.write_bytes(self._read.files[file.place])
            yield here

    def _all_of(self, files: list[Path]) -> _Read:
        """In the order of their names, which is that of their times: a run that went on has several."""
        read = _Read()
        for file in files:
            try:
                for message in read_records(file):
                    read.take(read_event(message))
            except Corrupt as error:
                self._problems.append(error.message)
            except (OSError, ValueError) as error:
                self._problems.append(f"{file} cannot be read: {error}. What comes before was read.")
        return read


def _safe(tag: str) -> str:
    """A tag as a path: names of images may hold anything."""
    parts = [part.strip(". ") for part in _UNSAFE.sub("_", tag).split("/")]
    return "/".join(part[:100] for part in parts if part) or "value"


def _moment(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
