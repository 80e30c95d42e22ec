"""The SDK: `millpond.init`, `log_metric` and the rest, for a job, a script or a notebook.

Nothing here raises into the caller's work or waits for the network: a mistake is said once on stderr, and what cannot
be sent stays on disk until it can.
"""

from __future__ import annotations

import atexit
import math
import os
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, SupportsFloat

from millpond.client.credentials import Target, resolve_target, spool_dir
from millpond.client.http import Api
from millpond.client.notebook import in_notebook, show_link
from millpond.client.reporter import Point, Reporter
from millpond.client.sending import abandoned_spools, send_abandoned
from millpond.client.servers import DEFAULT_SERVER
from millpond.client.spool import Header, Spool
from millpond.errors import MillError
from millpond.model.ids import new_id, new_job_id
from millpond.model.names import DEFAULT_PROJECT
from millpond.model.run import RunState
from millpond.wire.runs import RunCreate

EXIT_SECONDS = 5.0
MAX_ARTIFACT_BYTES = 64 << 20
MAX_KEY = 250

_ANSWER_SECONDS = 20.0

_lock = threading.RLock()
_current: Run | None = None


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
        self._finished = False
        self._owner = os.getpid()
        self._process = self._owner
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

    def log_artifact(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Keep a file, or the files of a folder, as they are now. Large results belong in `$MILL_OUTPUT`."""
        source = Path(path)
        try:
            if source.is_dir():
                for file in sorted(p for p in source.rglob("*") if p.is_file()):
                    self._keep(file, f"{name or source.name}/{file.relative_to(source).as_posix()}")
            else:
                self._keep(source, name or source.name)
        except OSError as error:
            self._live().warn(f"the artifact {source} could not be kept: {error}")

    def finish(self, state: RunState = RunState.SUCCEEDED) -> None:
        """Send what is left, for a few seconds at most, and end the run. Calling it again does nothing."""
        if self._finished:
            return
        self._finished = True
        ended = None if self.in_job or os.getpid() != self._owner else state
        if not self._live().close(EXIT_SECONDS, ended, datetime.now(UTC) if ended else None):
            sys.stderr.write(
                f"millpond: a part of run {self.id} could not be sent and is kept on disk; "
                "the next millpond.init() sends it, or: mill run upload\n"
            )

    def __enter__(self) -> Run:
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
        api = Api(self._target.server, self._target.token, patience=0, timeout=_ANSWER_SECONDS)
        return Reporter(api, spool, writer)

    def _live(self) -> Reporter:
        """The reporter of this process: a fork has none of its parent's threads and reports on its own account."""
        if os.getpid() != self._process:
            self._process = os.getpid()
            self._reporter = self._start()
            _at_exit(self.finish)
        return self._reporter

    def _step(self, key: str, step: int | None) -> int:
        at = self._steps.get(key, -1) + 1 if step is None else int(step)
        self._steps[key] = at
        return at

    def _keep(self, file: Path, path: str) -> None:
        size = file.stat().st_size
        if size > MAX_ARTIFACT_BYTES:
            self._live().warn(f"{file} has {size} bytes, too many for an artifact: write it to $MILL_OUTPUT instead")
            return
        self._live().add_artifact(file, path)


def init(
    project: str | None = None,
    name: str | None = None,
    experiment: str | None = None,
    params: Mapping[str, Any] | None = None,
    tags: Mapping[str, Any] | None = None,
) -> Run:
    """Begin a run, or join the job's own when called inside a job. A run that is still open is finished first."""
    global _current
    with _lock:
        job_run = os.environ.get("MILL_RUN_ID")
        if _current is not None and not _current._finished:
            if job_run == _current.id:
                _add_start(_current, params, tags)
                return _current
            _current.finish()
        target = _target(project)
        run_id = job_run or new_job_id()
        _current = Run(target, run_id, None if job_run else _request(run_id, name, experiment))
        _add_start(_current, params, tags)
        _at_exit(_finish_at_exit, _current)
        if not job_run:
            _announce(_current, target)
        return _current


def current_run() -> Run | None:
    """The run that module-level functions speak of; None before `init` and after `finish`."""
    return _current if _current is not None and not _current._finished else None


def log_metric(key: str, value: SupportsFloat, step: int | None = None) -> None:
    """Report a number of the current run; begins a run when there is none."""
    _run().log_metric(key, value, step)


def log_metrics(values: Mapping[str, SupportsFloat], step: int | None = None) -> None:
    """Report several numbers of one step."""
    _run().log_metrics(values, step)


def progress(done: SupportsFloat) -> None:
    """Say how far the job is, from 0 to 1."""
    _run().progress(done)


def log_param(key: str, value: Any) -> None:
    """Record one parameter."""
    _run().log_param(key, value)


def log_params(params: Mapping[str, Any] | None = None, /, **more: Any) -> None:
    """Record parameters, as a mapping or by keyword."""
    _run().log_params(params, **more)


def log_artifact(path: str | os.PathLike[str], name: str | None = None) -> None:
    """Keep a file, or the files of a folder, with the run."""
    _run().log_artifact(path, name)


def set_tag(key: str, value: Any) -> None:
    """Set one tag."""
    _run().set_tag(key, value)


def set_tags(tags: Mapping[str, Any]) -> None:
    """Set tags."""
    _run().set_tags(tags)


def finish(state: RunState | str = RunState.SUCCEEDED) -> None:
    """End the current run; nothing happens when there is none."""
    run = current_run()
    if run is not None:
        run.finish(RunState(state))


def _target(project: str | None) -> Target:
    try:
        return resolve_target(project=project)
    except MillError as error:
        sys.stderr.write(f"millpond: {error.message}; this run is kept on disk\n")
        return Target(DEFAULT_SERVER, None, project or DEFAULT_PROJECT)


def _open_spool(name: str, header: Header) -> Spool:
    try:
        return Spool(spool_dir() / name, header)
    except OSError as error:
        fallback = Path(tempfile.mkdtemp(prefix="millpond-"))
        sys.stderr.write(f"millpond: {spool_dir()} cannot be used ({error}); runs are kept in {fallback}\n")
        return Spool(fallback / name, header)


def _run() -> Run:
    with _lock:
        return current_run() or init()


def _request(run_id: str, name: str | None, experiment: str | None) -> RunCreate:
    return RunCreate(id=run_id, name=name, experiment=experiment or "default", started_at=datetime.now(UTC))


def _add_start(run: Run, params: Mapping[str, Any] | None, tags: Mapping[str, Any] | None) -> None:
    if params:
        run.log_params(params)
    if tags:
        run.set_tags(tags)


def _announce(run: Run, target: Target) -> None:
    if in_notebook():
        show_link(run.url, f"run {run.id}")
    else:
        sys.stderr.write(f"millpond: run {run.id} at {run.url}\n")
    if target.token is None:
        sys.stderr.write(f"millpond: not signed in to {target.server}; the run is kept on disk. Run: mill login\n")
        return
    earlier = threading.Thread(target=_send_earlier, args=(target,), name="millpond-earlier", daemon=True)
    earlier.start()
    # A thread that is in the middle of things when the interpreter ends can bring it down.
    _at_exit(earlier.join, EXIT_SECONDS)


def _at_exit(function: Callable[..., object], *arguments: object) -> None:
    """Call it when the interpreter ends, while there still are connections.

    urllib3 empties its pools by `weakref.finalize`, which takes its place among the exit functions when it is first
    used. What was registered last is called first: used here, before ours, it comes after.
    """
    weakref.finalize(function, int)
    atexit.register(function, *arguments)


def _send_earlier(target: Target) -> None:
    """What earlier scripts could not send goes now, beside the new run and never in its way."""
    directory = spool_dir()
    if not abandoned_spools(directory, target.server):
        return
    try:
        with Api(target.server, target.token, patience=0, timeout=_ANSWER_SECONDS) as api:
            _, problems = send_abandoned(api, directory)
    except (MillError, OSError):
        # Still away: it stays where it is.
        return
    for problem in problems:
        sys.stderr.write(f"millpond: {problem}\n")


def _finish_at_exit(run: Run) -> None:
    if os.getpid() != run._owner:
        return
    # Python sets this when an exception ended the script; in a notebook, when any cell failed, which ends nothing.
    failed = getattr(sys, "last_type", None) is not None and not in_notebook()
    run.finish(RunState.FAILED if failed else RunState.SUCCEEDED)


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
