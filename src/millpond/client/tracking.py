"""The SDK: `millpond.init`, `log_metric` and the rest, for a job, a script or a notebook."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, SupportsFloat

from millpond.client.credentials import ServerTarget, resolve_target, spool_dir
from millpond.client.http import Api
from millpond.client.notebook import in_notebook, show_link
from millpond.client.origin import read_origin
from millpond.client.run import ANSWER_SECONDS, EXIT_SECONDS, Run, at_exit, is_main_process
from millpond.client.runs import find_run, find_unfinished, get_run
from millpond.client.servers import DEFAULT_SERVER
from millpond.client.spool_sender import abandoned_spools, send_abandoned
from millpond.client.used_data import add_taker
from millpond.errors import MillError
from millpond.model.ids import new_job_id
from millpond.model.json_text import storable
from millpond.model.names import DEFAULT_PROJECT
from millpond.model.run import DEFAULT_EXPERIMENT, MAX_NAME, RUN_ID, RunState
from millpond.wire.runs import Artifact, RunCreate
from millpond.wire.runs import Run as WireRun

log = logging.getLogger(__name__)

_lock = threading.RLock()
# Those that have begun and may not have finished, the newest last.
_open: list[Run] = []


def init(
    project: str | None = None,
    name: str | None = None,
    experiment: str | None = None,
    params: Mapping[str, Any] | None = None,
    tags: Mapping[str, Any] | None = None,
    *,
    parent: str | Run | None = None,
    resume: str | None = None,
) -> Run:
    """Begin a run, or join the job's own when called inside a job, which then gets this name and experiment.

    A run that is open stays so, and is the current one again when the new one has finished. In a notebook a run that
    no `with` block holds is finished first: its cell was run again.

    Read parameters from `run.params`: those given here, where `mill rerun --set` or a search does not set them.
    `parent` makes it a part of another run (an id, or a Run), also inside a job; without an experiment it belongs to
    that of the other. `resume` goes on with an earlier run: its id, or "auto" for the newest of this name that has not
    succeeded, or a new one if there is none.
    """
    with _lock:
        if "MILL_RUN_ID" in os.environ and parent is None:
            run = _job_run(project, name, experiment)
        else:
            run = _begin(project, name, experiment, parent.id if isinstance(parent, Run) else parent, resume)
        run.join()
        run.params = {**(params or {}), **params_from_outside()}
        if run.params:
            run.log_params(run.params)
        if tags:
            run.set_tags(tags)
        return run


def _begin(
    project: str | None = None, name: str | None = None, experiment: str | None = None, parent: str | None = None,
    resume: str | None = None,
) -> Run:  # fmt: skip
    outer = current_run()
    if outer is not None and in_notebook() and not outer.is_entered:
        outer.close(RunState.SUCCEEDED)
        outer = None
    target = _target(project)
    earlier = _earlier_run(target, name, experiment, resume) if resume else None
    run_id = earlier.id if earlier else new_job_id()
    create = RunCreate(
        id=run_id, name=_name(name), experiment=_name(experiment) or (None if parent else DEFAULT_EXPERIMENT),
        parent=_parent(parent), started_at=datetime.now(UTC), resume=earlier is not None,
    )  # fmt: skip
    run = _opened(Run(target, run_id, create))
    if earlier is not None:
        run.continue_steps(earlier.steps)
    _announce(run, target, outer)
    _record_origin(run)
    return run


def _name(given: object) -> str | None:
    """As the server takes it: a run is not lost for a name that is too long."""
    return storable(str(given))[:MAX_NAME] or None if given is not None else None


def _parent(given: str | None) -> str | None:
    if given is None or RUN_ID.fullmatch(str(given)):
        return given
    sys.stderr.write(f"millpond: parent={given!r} is ignored, it is not the id of a run\n")
    return None


@dataclass(frozen=True, slots=True)
class _Earlier:
    """A run to go on with, and the last step of each of its metrics."""

    id: str
    steps: Mapping[str, int]


def _earlier_run(target: ServerTarget, name: str | None, experiment: str | None, resume: str) -> _Earlier | None:
    """None, with a word on stderr, if there is none to go on with. An id counts though the server is away."""
    try:
        with Api(target.server, target.token, patience=0, timeout=ANSWER_SECONDS) as api:
            # What it had not sent when it was killed counts, too.
            _send_abandoned(api)
            if resume == "auto":
                found = find_unfinished(api, target.project, name, experiment or DEFAULT_EXPERIMENT)
                return _Earlier(found.id, _last_steps(found)) if found else None
            return _Earlier(resume, _last_steps(get_run(api, target.project, resume)))
    except MillError as error:
        if resume != "auto" and error.transient and RUN_ID.fullmatch(resume):
            return _Earlier(resume, {})
        sys.stderr.write(f"millpond: cannot resume {resume!r}: {error.message} A new run begins.\n")
        return None


def _last_steps(run: WireRun) -> Mapping[str, int]:
    return {key: summary.last_step for key, summary in run.summaries.items()}


def _record_origin(run: Run) -> None:
    """Beside the script's work: reading packages and asking Git takes a moment."""

    def record() -> None:
        try:
            run.record_origin(read_origin())
        except Exception as error:  # logging must not end a training
            log.debug("origin_failed", exc_info=True)
            sys.stderr.write(f"millpond: cannot record where run {run.id} comes from: {error}\n")

    thread = threading.Thread(target=record, name="millpond-origin", daemon=True)
    thread.start()
    # Before the run is finished: exit functions run in the opposite order.
    run.wait_for(thread)


def _job_run(project: str | None = None, name: str | None = None, experiment: str | None = None) -> Run:
    """A job has one run. What is said of it here is applied to it; its project cannot be another."""
    run_id = os.environ["MILL_RUN_ID"]
    run = next((one for one in _open if one.id == run_id and not one.is_finished), None)
    if run is None:
        target = _target(None)
        run = _opened(Run(target, run_id, None))
        if os.environ.get("MILL_ATTEMPT", "1") != "1" and (earlier := _earlier_run(target, None, None, run_id)):
            # Points of this attempt go on behind those of the one before.
            run.continue_steps(earlier.steps)
        if is_main_process():
            _record_origin(run)
    run.rename(name, experiment)
    if project is not None and project != run.project:
        sys.stderr.write(f"millpond: project={project!r} is ignored: a job's run is in its project, {run.project}\n")
    return run


def _opened(run: Run) -> Run:
    _open[:] = [one for one in _open if not one.is_finished] + [run]
    at_exit(_finish_at_exit, run)
    add_taker(run.log_input)
    return run


def params_from_outside(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The JSON object in the file that MILL_PARAMS names. Empty, with a word, if it cannot be read."""
    path = environ.get("MILL_PARAMS", "")
    if not path:
        return {}
    try:
        found = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"millpond: MILL_PARAMS is ignored, it cannot be read: {error}\n")
        return {}
    if not isinstance(found, dict):
        sys.stderr.write("millpond: MILL_PARAMS is ignored, it is not a JSON object\n")
        return {}
    return found


def current_run() -> Run | None:
    """The run that module-level functions speak of: the newest open one. None before `init` and after `finish`."""
    return next((run for run in reversed(_open) if not run.is_finished), None)


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


def log_image(key: str, image: Any, step: int | None = None) -> None:
    """Keep an image with the run: a path, a PIL image, or an array."""
    _run().log_image(key, image, step)


def log_figure(key: str, figure: Any, step: int | None = None) -> None:
    """Keep a figure of matplotlib or plotly."""
    _run().log_figure(key, figure, step)


def log_table(key: str, data: Any, step: int | None = None) -> None:
    """Keep a table: a data frame, a mapping of columns, or a list of mappings."""
    _run().log_table(key, data, step)


def log_confusion_matrix(
    key: str, matrix: Any = None, *, labels: Sequence[Any] | None = None, truth: Any = None, predicted: Any = None,
    step: int | None = None,
) -> None:  # fmt: skip
    """Keep a confusion matrix: its counts, or the true and predicted classes."""
    _run().log_confusion_matrix(key, matrix, labels=labels, truth=truth, predicted=predicted, step=step)


def log_histogram(key: str, values: Any, *, bins: int = 64, step: int | None = None) -> None:
    """Keep how numbers are distributed."""
    _run().log_histogram(key, values, bins=bins, step=step)


def log_artifact(path: str | os.PathLike[str], name: str | None = None, *, wait: bool = True) -> None:
    """Keep a file, or the files of a folder, with the run; listed when this returns."""
    _run().log_artifact(path, name, wait=wait)


def log_artifacts(folder: str | os.PathLike[str], name: str = "", *, wait: bool = True) -> None:
    """Keep all files of a folder with the run."""
    _run().log_artifacts(folder, name, wait=wait)


def list_artifacts(run: str, *, path: str = "", project: str | None = None) -> list[Artifact]:
    """The files that a run, by id or name, has kept, or those below a folder: `path` and `size` of each."""
    from millpond.client import artifacts  # noqa: PLC0415

    with _reading(project) as (api, target):
        return list(artifacts.list_artifacts(api, target.project, find_run(api, target.project, run).id, path))


def download_artifacts(
    run: str, to: str | os.PathLike[str] = ".", *, path: str = "", project: str | None = None
) -> Path:
    """Write a run's files, or its file or folder `path`, into the folder `to`; that folder."""
    from millpond.client import artifacts  # noqa: PLC0415

    with _reading(project) as (api, target):
        found = find_run(api, target.project, run)
        artifacts.download_artifacts(api, target.project, found.id, Path(to), path=path)
    return Path(to)


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


def _target(project: str | None) -> ServerTarget:
    try:
        return resolve_target(project=project)
    except MillError as error:
        sys.stderr.write(f"millpond: {error.message}; this run is kept on disk\n")
        return ServerTarget(DEFAULT_SERVER, None, project or DEFAULT_PROJECT)


@contextmanager
def _reading(project: str | None) -> Iterator[tuple[Api, ServerTarget]]:
    target = resolve_target(project=project)
    with Api(target.server, target.token) as api:
        yield api, target


def _run() -> Run:
    with _lock:
        return current_run() or (_job_run() if "MILL_RUN_ID" in os.environ else _begin())


def _announce(run: Run, target: ServerTarget, outer: Run | None) -> None:
    if in_notebook():
        show_link(run.url, f"run {run.id}")
    else:
        inside = f", inside run {outer.id}, which goes on when this one has finished" if outer else ""
        sys.stderr.write(f"millpond: run {run.id} at {run.url}{inside}\n")
    if target.token is None:
        sys.stderr.write(f"millpond: not signed in to {target.server}; the run is kept on disk. Run: mill login\n")
        return
    earlier = threading.Thread(target=_send_earlier, args=(target,), name="millpond-earlier", daemon=True)
    earlier.start()
    # A thread that is in the middle of things when the interpreter ends can bring it down.
    at_exit(earlier.join, EXIT_SECONDS)


def _send_earlier(target: ServerTarget) -> None:
    """What earlier scripts could not send goes now, beside the new run and never in its way."""
    if not abandoned_spools(spool_dir(), target.server):
        return
    with (
        # Still away: it stays where it is.
        suppress(MillError, OSError),
        Api(target.server, target.token, patience=0, timeout=ANSWER_SECONDS) as api,
    ):
        _send_abandoned(api)


def _send_abandoned(api: Api) -> None:
    for problem in send_abandoned(api, spool_dir())[1]:
        sys.stderr.write(f"millpond: {problem}\n")


def _finish_at_exit(run: Run) -> None:
    if os.getpid() != run.owner:
        return
    # Python sets this when an exception ended the script; in a notebook, when any cell failed, which ends nothing.
    failed = getattr(sys, "last_type", None) is not None and not in_notebook()
    run.close(RunState.FAILED if failed else RunState.SUCCEEDED)
