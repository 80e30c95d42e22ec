"""One run as a script sees it: what is logged to it, and how it ends.

Nothing here raises into the caller's work. Only artifacts wait for the network: a mistake is said once on stderr, and
what cannot be sent stays on disk until it can.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, SupportsFloat

from millpond.client.credentials import Target, spool_dir
from millpond.client.http import Api
from millpond.client.reporter import Point, Reporter
from millpond.client.spool import Header, Spool
from millpond.errors import MillError
from millpond.model.ids import new_id
from millpond.model.run import RunState
from millpond.wire.runs import Artifact, RunCreate

EXIT_SECONDS = 5.0
ANSWER_SECONDS = 20.0
MAX_KEY = 250
MAX_TEXT = 200


class HasItem(Protocol):
    """A scalar of numpy or torch."""

    def item(self) -> Any: ...


class Run:
    """One run. Made by `init`; a context manager that ends it, as failed when the block raised."""

    def __init__(self, target: Target, run_id: str, create: RunCreate | None) -> None:
        self.id = run_id
        self.project = target.project
        self.url = f"{target.server}/projects/{target.project}/runs/{run_id}"
        self._target = target
        self._create = create
        self._steps: dict[str, int] = {}
        # Calls of `init` that have not finished: a job has one run, which each of them joins.
        self._users = 0
        self.is_finished = False
        # Inside a `with` block: it ends with the block, and with nothing else.
        self.is_entered = False
        self.owner = os.getpid()
        self._process = self.owner
        self._reporter = self._start()

    @property
    def in_job(self) -> bool:
        """A job's run ends with the job: how it ended is for the job's exit code to say."""
        return self._create is None

    def log_metric(self, key: str, value: SupportsFloat, step: int | None = None) -> None:
        """Report a number; without a step, the next one of this key."""
        self.log_metrics({key: value}, step)

    def log_metrics(self, values: Mapping[str, SupportsFloat], step: int | None = None) -> None:
        """Report several numbers of one step. NaN and infinities are kept, as gaps."""
        now = time.time()
        points: list[Point] = []
        for key, value in values.items():
            name = str(key)[:MAX_KEY] or "-"
            try:
                number = float(value)
                points.append((name, number if math.isfinite(number) else None, self._step(name, step), now))
            except (TypeError, ValueError, OverflowError) as error:
                self._live().warn(f"the metric {name!r} is not a number and was left out: {error}")
        self._live().add(points=points)

    def progress(self, done: SupportsFloat) -> None:
        """Say how far the job is, from 0 to 1; the newest word counts. Outside a job nobody asks."""
        try:
            share = float(done)
        except (TypeError, ValueError) as error:
            self._live().warn(f"progress is a number from 0 to 1: {error}")
            return
        if math.isfinite(share):
            self._live().add(progress=min(max(share, 0.0), 1.0))

    def log_param(self, key: str, value: Any) -> None:
        self.log_params({key: value})

    def log_params(self, params: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Record parameters; anything JSON cannot say is recorded as its text."""
        given = {**(params or {}), **more}
        self._live().add(params={str(key)[:MAX_KEY]: _plain(value) for key, value in given.items()})

    def set_tag(self, key: str, value: Any) -> None:
        self.set_tags({key: value})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        self._live().add(tags={str(key)[:MAX_KEY]: str(value) for key, value in tags.items()})

    def log_artifact(self, path: str | os.PathLike[str], name: str | None = None, *, wait: bool = True) -> None:
        """Keep a file, or the files of a folder, as they are now: of any size, listed when this returns.

        With `wait=False`, and while the server is away, a copy on disk is sent in the background.
        """
        source = Path(path)
        self._keep(source, name or source.name, wait)

    def log_artifacts(self, folder: str | os.PathLike[str], name: str = "", *, wait: bool = True) -> None:
        """Keep all files of a folder, below the folder `name` of the run's artifacts (at their top without it)."""
        self._keep(Path(folder), name, wait)

    def artifacts(self, path: str = "") -> list[Artifact]:
        """The files that this run has kept, or those below a folder: `path` and `size` of each. MillError if away."""
        from millpond.client.artifacts import list_artifacts  # noqa: PLC0415

        with self._api() as api:
            return list(list_artifacts(api, self.project, self.id, path))

    def download_artifacts(self, to: str | os.PathLike[str] = ".", path: str = "") -> Path:
        """Write the run's files, or the file or folder `path`, into the folder `to`; that folder."""
        from millpond.client.artifacts import download_artifacts  # noqa: PLC0415

        with self._api() as api:
            download_artifacts(api, self.project, self.id, Path(to), path=path)
        return Path(to)

    def join(self) -> None:
        """One more uses it: it ends when everybody who joined it has finished."""
        self._users += 1

    def rename(self, name: str | None, experiment: str | None) -> None:
        given = {"name": name, "experiment": experiment}
        if renamed := {key: str(value)[:MAX_TEXT] for key, value in given.items() if value}:
            self._live().add(renamed=renamed)

    def finish(self, state: RunState = RunState.SUCCEEDED) -> None:
        """Send what is left, for a few seconds at most, and end the run. Calling it again does nothing."""
        self._users -= 1
        if self._users <= 0:
            self.close(state)

    def close(self, state: RunState) -> None:
        """End it, whoever uses it still."""
        if self.is_finished:
            return
        self.is_finished = True
        ended = None if self.in_job or os.getpid() != self.owner else state
        if not self._live().close(EXIT_SECONDS, ended, datetime.now(UTC) if ended else None):
            sys.stderr.write(
                f"millpond: a part of run {self.id} could not be sent and is kept on disk; "
                "the next millpond.init() sends it, or: mill run upload\n"
            )

    def __enter__(self) -> Run:
        self.is_entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish(RunState.SUCCEEDED if kind is None else RunState.FAILED)

    def __repr__(self) -> str:
        return f"<millpond.Run {self.id} of {self.project}: {self.url}>"

    def _start(self) -> Reporter:
        writer = new_id(16)
        header = Header.of_this_process(self._target.server, self.project, self.id, self._create)
        spool = _open_spool(f"{self.id}-{writer}.jsonl", header)
        api = Api(self._target.server, self._target.token, patience=0, timeout=ANSWER_SECONDS)
        return Reporter(api, spool, writer)

    def _live(self) -> Reporter:
        """The reporter of this process: a fork has none of its parent's threads and reports on its own account."""
        if os.getpid() != self._process:
            self._process = os.getpid()
            self._reporter = self._start()
            at_exit(self.finish)
        return self._reporter

    def _step(self, key: str, step: int | None) -> int:
        at = self._steps.get(key, -1) + 1 if step is None else int(step)
        self._steps[key] = at
        return at

    def _keep(self, source: Path, name: str, wait: bool) -> None:
        try:
            found = dict(_files(source, name))
            self._live().add_artifacts(found, wait=wait)
        except (OSError, MillError) as error:
            self._live().warn(f"the artifact {source} could not be kept: {error}")

    def _api(self) -> Api:
        return Api(self._target.server, self._target.token)


def at_exit(function: Callable[..., object], *arguments: object) -> None:
    """Call it when the interpreter ends, while there still are connections.

    urllib3 empties its pools by `weakref.finalize`, which takes its place among the exit functions when it is first
    used. What was registered last is called first: used here, before ours, it comes after.
    """
    weakref.finalize(function, int)
    atexit.register(function, *arguments)


def _open_spool(name: str, header: Header) -> Spool:
    try:
        return Spool(spool_dir() / name, header)
    except OSError as error:
        fallback = Path(tempfile.mkdtemp(prefix="millpond-"))
        sys.stderr.write(f"millpond: {spool_dir()} cannot be used ({error}); runs are kept in {fallback}\n")
        return Spool(fallback / name, header)


def _files(source: Path, name: str) -> Iterator[tuple[str, Path]]:
    """The files that an artifact stands for, by the path of each."""
    if not source.is_dir():
        yield name, source
        return
    below = f"{name.rstrip('/')}/" if name else ""
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        yield below + file.relative_to(source).as_posix(), file


def _plain(value: Any) -> Any:
    """A value JSON can say: scalars of numpy and torch as numbers, containers part by part, the rest as text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(part) for part in value]
    try:
        scalar: HasItem = value
        inner = scalar.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):
        return str(value)
    return _plain(inner) if isinstance(inner, (bool, int, float, str)) else str(value)
