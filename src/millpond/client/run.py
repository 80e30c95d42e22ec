"""One run as a script sees it: what is logged to it, and how it ends.

Nothing here raises into the caller's work: a mistake is said once on stderr. What a call has logged is with the
operating system when it returns, so that killing the script loses nothing; what cannot be sent stays on disk until it
can. Only artifacts wait for the network.
"""

from __future__ import annotations

import atexit
import json
import logging
import math
import os
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, SupportsFloat

from millpond.client import media
from millpond.client.credentials import ServerTarget, spool_dir
from millpond.client.harmless import harmless
from millpond.client.http import Api
from millpond.client.logged_values import in_parts, plain
from millpond.client.reporter import Reporter
from millpond.client.spool import BATCH_LINES, Header, Spool
from millpond.client.used_data import remove_taker
from millpond.errors import MillError
from millpond.model.ids import new_id
from millpond.model.json_text import storable
from millpond.model.run import MAX_KEY, MAX_NAME, MAX_VALUE_BYTES, RunState
from millpond.model.series import LEAST_STEP, MOST_STEP
from millpond.wire.runs import Artifact, RunCreate

if TYPE_CHECKING:
    from millpond.wire.lineage import LineageGraph

EXIT_SECONDS = 5.0
# A job's results count, and its token ends with it: nobody else can send them. A server that restarts is waited for.
JOB_EXIT_SECONDS = 120.0
ANSWER_SECONDS = 20.0

log = logging.getLogger(__name__)


class Run:
    """One run. Made by `init`; a context manager that ends it, as failed when the block raised."""

    def __init__(self, target: ServerTarget, run_id: str, create: RunCreate | None) -> None:
        self.id = run_id
        self.project = target.project
        self.url = f"{target.server}/projects/{target.project}/runs/{run_id}"
        self._target = target
        self._create = create
        self._steps: dict[str, int] = {}
        # Keys of metrics as JSON: a loop logs the same few for days.
        self._names: dict[str, str] = {}
        # Parameters as given to `init`, with what MILL_PARAMS sets from outside: `mill rerun --set`, a search.
        self.params: dict[str, Any] = {}
        self._logged_params: dict[str, Any] = {}
        self._before_close: list[threading.Thread] = []
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
        """Report a number; without a step, the next one of this key. NaN and infinities are kept."""
        line = self._line(key, value, step, int(time.time() * 1000))
        if line is not None:
            self._live().write(line.encode())

    def warn(self, text: str) -> None:
        """Say something once on stderr."""
        self._live().warn(text)

    @harmless
    def log_metrics(self, values: Mapping[str, SupportsFloat], step: int | None = None) -> None:
        """Report several numbers of one step."""
        now = int(time.time() * 1000)
        found = [line for key, value in values.items() if (line := self._line(key, value, step, now)) is not None]
        for begin in range(0, len(found), BATCH_LINES):
            lines = found[begin : begin + BATCH_LINES]
            self._live().write("".join(lines).encode(), len(lines))

    @harmless
    def progress(self, done: SupportsFloat) -> None:
        """Say how far the job is, from 0 to 1; the newest word counts. Outside a job nobody asks."""
        share = float(done)
        if math.isfinite(share):
            self._live().add(progress=min(max(share, 0.0), 1.0))

    @harmless
    def log_param(self, key: str, value: Any) -> None:
        self.log_params({key: value})

    @harmless
    def log_params(self, params: Mapping[str, Any] | None = None, /, **more: Any) -> None:
        """Record parameters; anything JSON cannot say is recorded as its text. A changed one keeps what it was."""
        given = {**(params or {}), **more}
        found = {str(key)[:MAX_KEY] or "-": plain(value) for key, value in given.items()}
        for part in in_parts({key: self._short(f"parameter {key!r}", value) for key, value in found.items()}):
            if any(key in self._logged_params and self._logged_params[key] != value for key, value in part.items()):
                # In a batch only the newest value counts, and the server would never see the one before.
                self._live().cut()
            self._live().add(params=part)
            self._logged_params.update(part)

    @harmless
    def set_tag(self, key: str, value: Any) -> None:
        self.set_tags({key: value})

    @harmless
    def set_tags(self, tags: Mapping[str, Any]) -> None:
        found = {str(key)[:MAX_KEY] or "-": str(value) for key, value in tags.items()}
        for part in in_parts({key: self._short(f"tag {key!r}", value) for key, value in found.items()}):
            self._live().add(tags=part)

    def log_image(self, key: str, image: Any, step: int | None = None) -> None:
        """Keep an image: a path, a PIL image, or an array of numpy or torch (height × width × 1, 3 or 4 channels)."""
        self._keep_media("images", key, step, lambda: media.image(image))

    def log_figure(self, key: str, figure: Any, step: int | None = None) -> None:
        """Keep a figure of matplotlib (as PNG) or plotly (as JSON)."""
        self._keep_media("figures", key, step, lambda: media.figure(figure))

    def log_table(self, key: str, data: Any, step: int | None = None) -> None:
        """Keep a table: a data frame, a mapping of columns, or a list of mappings."""
        self._keep_media("tables", key, step, lambda: media.table(data))

    def log_confusion_matrix(
        self, key: str, matrix: Any = None, *, labels: Sequence[Any] | None = None, truth: Any = None,
        predicted: Any = None, step: int | None = None,
    ) -> None:  # fmt: skip
        """Keep a confusion matrix: its counts (a row for each true class), or the true and predicted classes."""
        self._keep_media("confusion", key, step, lambda: media.confusion_matrix(matrix, labels, truth, predicted))

    def log_histogram(self, key: str, values: Any, *, bins: int = 64, step: int | None = None) -> None:
        """Keep how numbers are distributed: counts in `bins` equal intervals. NaN and infinities are counted apart."""
        self._keep_media("histograms", key, step, lambda: media.histogram(values, bins))

    @harmless
    def log_artifact(self, path: str | os.PathLike[str], name: str | None = None, *, wait: bool = True) -> None:
        """Keep a file, or the files of a folder, as they are now: of any size, listed when this returns.

        With `wait=False`, and while the server is away, a copy on disk is sent in the background.
        """
        source = Path(path)
        self._keep(source, name or source.name, wait)

    @harmless
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

    def lineage(self, direction: str = "both", *, depth: int = 4, limit: int = 200) -> LineageGraph:
        """The graph around this run: the commits it read and made, and so on; as `millpond.lineage`."""
        from millpond.client.lineage import get_graph  # noqa: PLC0415

        with self._api() as api:
            return get_graph(api, self.project, run=self.id, direction=direction, depth=depth, limit=limit)

    def rerun(self, set: Mapping[str, Any] | None = None, **otherwise: Any) -> Any:
        """Make this run again as a job, with some parameters set otherwise: as `millpond.rerun`, which see."""
        from millpond.client.rerun import rerun  # noqa: PLC0415

        return rerun(self.id, set, project=self.project, server=self._target.server, **otherwise)

    def join(self) -> None:
        """One more uses it: it ends when everybody who joined it has finished."""
        self._users += 1

    @harmless
    def rename(self, name: str | None, experiment: str | None) -> None:
        given = {"name": name, "experiment": experiment}
        if renamed := {key: str(value)[:MAX_NAME] for key, value in given.items() if value}:
            self._live().add(**renamed)

    @harmless
    def record_origin(self, origin: Mapping[str, Any]) -> None:
        """Record where the run comes from: command, Git, host, packages (client/origin.py)."""
        self._live().add(origin=dict(origin))

    @harmless
    def log_input(self, found: Mapping[str, Any]) -> None:
        """Record a dataset that was read. `millpond.Dataset` does this by itself (client/used_data.py)."""
        self._live().add(inputs=[dict(found)])

    def wait_for(self, thread: threading.Thread) -> None:
        """Let this thread finish before the run is closed: what it records belongs to the run."""
        self._before_close.append(thread)

    def continue_steps(self, last: Mapping[str, int]) -> None:
        """Points without a step go on behind these."""
        self._steps.update(last)

    def finish(self, state: RunState | str = RunState.SUCCEEDED) -> None:
        """Send what is left, for a few seconds at most, and end the run. Calling it again does nothing."""
        ended = RunState(state)
        self._users -= 1
        if self._users <= 0:
            self.close(ended)

    def close(self, state: RunState) -> None:
        """End it, whoever uses it still."""
        if self.is_finished:
            return
        remove_taker(self.log_input)
        for thread in self._before_close if os.getpid() == self.owner else ():
            thread.join(EXIT_SECONDS)
        self.is_finished = True
        reporter = self._live()
        if not self.in_job and os.getpid() == self.owner and is_main_process():
            reporter.add(ended=state.value, ended_at=datetime.now(UTC).isoformat())
        of_job = os.environ.get("MILL_RUN_ID") == self.id
        if not reporter.close(JOB_EXIT_SECONDS if of_job else EXIT_SECONDS, persists=of_job):
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
        header = Header.of_this_process(self._target.server, self.project, self.id, self._create, writer)
        spool = _open_spool(f"{self.id}-{writer}.jsonl", header)
        api = Api(self._target.server, self._target.token, patience=0, timeout=ANSWER_SECONDS)
        return Reporter(api, spool)

    def _live(self) -> Reporter:
        """The reporter of this process: a fork has none of its parent's threads and reports on its own account."""
        if os.getpid() != self._process:
            self._process = os.getpid()
            self._reporter = self._start()
            at_exit(self.finish)
        return self._reporter

    def _line(self, key: str, value: SupportsFloat, step: int | None, now: int) -> str | None:
        """A point as a line of the spool; None, with a warning, for what is no number or has no usable step."""
        try:
            name = self._names.get(key)
            if name is None:
                if len(str(key)) > MAX_KEY:
                    raise ValueError(f"its key has more than {MAX_KEY} characters")
                name = self._names[key] = json.dumps(storable(str(key)) or "-", ensure_ascii=False)
            number = float(value)
            at = self._steps.get(key, -1) + 1 if step is None else int(step)
            if not LEAST_STEP <= at <= MOST_STEP:
                raise ValueError(f"step {at} does not fit into 64 bits")
        except Exception as error:  # an array of torch raises anything; logging must not end a training
            log.debug("metric_failed", exc_info=True)
            self.warn(f"the metric {str(key)[:MAX_KEY]!r} was left out: {error}")
            return None
        self._steps[key] = at
        # JSON of Python has words for NaN and infinities.
        written = repr(number) if isfinite(number) else json.dumps(number)
        return f"[{name},{at},{written},{now}]\n"

    def _short(self, what: str, value: Any) -> Any:
        """A value that the server takes; a longer one as the beginning of its text."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        text = storable(text)
        if len(text) * 4 <= MAX_VALUE_BYTES or len(text.encode()) <= MAX_VALUE_BYTES:
            return text if isinstance(value, str) else value
        self._live().warn(
            f"the {what} is longer than {MAX_VALUE_BYTES >> 10} KiB and was cut off; log it as an artifact"
        )
        return text.encode()[: MAX_VALUE_BYTES - 3].decode(errors="ignore") + "…"

    def _keep_media(self, kind: str, key: str, step: int | None, make: Callable[[], media.Media]) -> None:
        counted = f"{kind}/{key}"
        try:
            made = make()
            at = self._steps.get(counted, -1) + 1 if step is None else int(step)
            self._steps[counted] = at
            name = media.safe_name(str(key)) or "-"
            self._live().add_content(f"{kind}/{name}/{at}.{made.extension}", made.content)
        except Exception as error:  # of whatever library made it; logging must not end a training
            log.debug("media_failed", exc_info=True)
            self._live().warn(f"the {kind.rstrip('s')} {str(key)[:MAX_KEY]!r} could not be kept: {error}")

    def _keep(self, source: Path, name: str, wait: bool) -> None:
        try:
            found = {storable(path): file for path, file in _files(source, name)}
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


def is_main_process() -> bool:
    """True unless a launcher (torchrun, MPI, Slurm) says that this is another rank than the first."""
    ranks = (os.environ.get(name) for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"))
    return next((rank for rank in ranks if rank), "0") == "0"
