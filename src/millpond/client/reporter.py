"""The threads behind a run: one puts what was logged on disk, one brings it to the server. The caller never waits."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from millpond.client.http import Api
from millpond.client.spool import TOUCH_SECONDS, ArtifactLine, BatchLine, Spool
from millpond.client.spool_sender import REFUSED, Sender, grouped
from millpond.errors import MillError
from millpond.model.run import RunState

log = logging.getLogger(__name__)

BATCH_POINTS = 1000
BATCH_SECONDS = 0.5
# Above this many points in memory, whoever logs writes them to disk: memory stays bounded, nothing is dropped.
MOST_POINTS = 10_000
# Key, value, step, seconds since 1970: a tuple, because one is made for every number a training loop reports.
Point = tuple[str, float | None, int, float]
RETRY_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)


class Reporter:
    """Takes parameters, tags, points and files of one run from any thread, at memory speed."""

    def __init__(self, api: Api, spool: Spool, writer: str) -> None:
        self._api = api
        self._spool = spool
        self._sender = Sender(api, spool.header, spool.artifacts)
        self._writer = writer
        self._sequence = 0
        self._params: dict[str, Any] = {}
        self._tags: dict[str, str] = {}
        self._renamed: dict[str, str] = {}
        self._progress: float | None = None
        self._points: list[Point] = []
        self._lock = threading.Lock()
        self._full = threading.Event()
        # Told whenever the sender has a reason to look, or has looked.
        self._changed = threading.Condition()
        self._finishing = threading.Event()
        self._gave_up = False
        # The last try failed: nobody waits for what is to be sent.
        self._is_away = False
        self._closed = threading.Event()
        self._warned: set[str] = set()
        self._threads = [
            threading.Thread(target=self._write_loop, name="millpond-write", daemon=True),
            threading.Thread(target=self._send_loop, name="millpond-send", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def add(
        self,
        *,
        points: list[Point] | None = None,
        params: dict[str, Any] | None = None,
        tags: dict[str, str] | None = None,
        progress: float | None = None,
        renamed: dict[str, str] | None = None,
    ) -> None:
        """`renamed` is a new name or experiment of the run."""
        if self._is_over():
            return
        with self._lock:
            self._points.extend(points or ())
            self._params.update(params or {})
            self._tags.update(tags or {})
            self._renamed.update(renamed or {})
            self._progress = self._progress if progress is None else progress
            waiting = len(self._points)
        if waiting >= MOST_POINTS:
            self.write_out()
        elif waiting >= BATCH_POINTS:
            self._full.set()

    def add_artifacts(self, files: Mapping[str, Path], *, wait: bool) -> None:
        """Keep files as they are now. With `wait` they are at the server when this returns, unless it is away."""
        if not files or self._is_over():
            return
        self.write_out()
        if wait and not self._spool.has_unsent_artifacts and self._send_now(files):
            return
        for path, source in files.items():
            self._spool.append(ArtifactLine(path=path, file=self._spool.keep_artifact(source)))
        self._wake()
        if wait:
            with self._changed:
                self._changed.wait_for(lambda: not self._spool.has_unsent_artifacts or self._is_away)

    def _send_now(self, files: Mapping[str, Path]) -> bool:
        """Send files without a copy; False if the server is away, and they must be kept."""
        try:
            self._sender.send_files(files)
        except MillError as error:
            if error.transient or not isinstance(error, REFUSED):
                self._say_away(error)
                return False
            self.warn(f"the server refused artifacts of this run: {error.message}")
        return True

    def write_out(self, ended: RunState | None = None, ended_at: datetime | None = None) -> None:
        """Put everything logged so far on disk. A disk that refuses is said once; what was logged stays in memory."""
        with self._lock:
            try:
                while self._points or self._has_values() or ended:
                    last = len(self._points) <= BATCH_POINTS
                    self._append(ended if last else None, ended_at if last else None)
                    ended = None if last else ended
            except OSError as error:
                self.warn(f"cannot write this run's reports to {self._spool.path}: {error}")
                # Bounded even then: the oldest points give way.
                del self._points[:-MOST_POINTS]
                return
        self._wake()

    def close(self, deadline_seconds: float, ended: RunState | None, ended_at: datetime | None) -> bool:
        """Write, send what can be sent in time, end the threads. False when something is left in the spool."""
        deadline = time.monotonic() + deadline_seconds
        self.write_out(ended, ended_at)
        self._finishing.set()
        self._wake()
        with self._changed:
            self._changed.wait_for(lambda: self._spool.is_sent or self._gave_up, timeout=deadline_seconds)
        self._closed.set()
        self._full.set()
        self._wake()
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        done = self._spool.is_sent
        self._spool.close()
        self._sender.close()
        self._api.close()
        return done

    def warn(self, text: str) -> None:
        """Say something once on stderr, however often it happens."""
        if text not in self._warned:
            self._warned.add(text)
            sys.stderr.write(f"millpond: {text}\n")

    def _is_over(self) -> bool:
        if self._closed.is_set():
            self.warn(f"run {self._spool.header.run} has ended; later reports are ignored")
        return self._closed.is_set()

    def _append(self, ended: RunState | None, ended_at: datetime | None) -> None:
        """One batch to disk; only then does it leave memory."""
        batch = {
            "sequence": self._sequence,
            "writer": self._writer,
            "metrics": [_point(point) for point in self._points[:BATCH_POINTS]],
            "params": self._params,
            "tags": self._tags,
            **self._renamed,
            "progress": self._progress,
            "ended": ended.value if ended else None,
            "ended_at": ended_at.isoformat() if ended_at else None,
        }
        self._spool.append(BatchLine(batch))
        self._sequence += 1
        del self._points[:BATCH_POINTS]
        self._params, self._tags, self._renamed, self._progress = {}, {}, {}, None

    def _has_values(self) -> bool:
        return bool(self._params or self._tags or self._renamed) or self._progress is not None

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _write_loop(self) -> None:
        touched = time.monotonic()
        while not self._closed.is_set():
            self._full.wait(BATCH_SECONDS)
            self._full.clear()
            try:
                self.write_out()
                if time.monotonic() - touched >= TOUCH_SECONDS:
                    self._spool.touch()
                    touched = time.monotonic()
            except Exception as error:
                # The edge of the thread: whatever happens here must never reach the training script.
                log.exception("run_write_failed")
                self.warn(f"cannot store a report of this run: {error}")

    def _send_loop(self) -> None:
        failures = 0
        while not self._closed.is_set():
            try:
                self._send_waiting()
                failures, self._is_away = 0, False
            except MillError as error:
                failures += 1
                self._say_away(error)
            except Exception as error:
                # As above: this thread goes on, whatever happened.
                log.exception("run_send_failed")
                failures += 1
                self.warn(f"cannot send this run's reports right now: {error}")
            if failures:
                self._is_away = True
                self._wake()
            self._rest(failures)

    def _send_waiting(self) -> None:
        self._sender.create()
        for lines, offset in grouped(self._spool.unsent()):
            if self._closed.is_set():
                return
            for problem in self._sender.send(lines):
                self.warn(problem)
            self._spool.sent(offset)
        self._wake()

    def _rest(self, failures: int) -> None:
        """Until there is something to send; after a failure, until it is time to try again or to finish."""
        with self._changed:
            if not failures:
                self._changed.wait_for(lambda: not self._spool.is_sent or self._closed.is_set())
                return
            if self._finishing.is_set():
                # The last try failed as well: the rest stays on disk for another process.
                self._gave_up = True
                self._changed.notify_all()
                self._changed.wait_for(self._closed.is_set)
                return
            pause = RETRY_SECONDS[min(failures, len(RETRY_SECONDS)) - 1]
            self._changed.wait_for(self._finishing.is_set, timeout=pause)

    def _say_away(self, error: MillError) -> None:
        where = self._spool.header.server
        if error.transient:
            self.warn(f"the server {where} is not reachable; this run is kept on disk and sent later")
        else:
            self.warn(f"the server {where} refused this run ({error.message}); it is kept in {self._spool.path}")


def _point(point: Point) -> dict[str, Any]:
    """As in `wire.runs.MetricPoint`."""
    key, value, step, at = point
    return {"key": key, "value": value, "step": step, "at": datetime.fromtimestamp(at, UTC).isoformat()}
