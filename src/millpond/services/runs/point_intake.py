"""Points that clients log, taken many requests at a time: one transaction, one fsync, then each is acknowledged.

A training logs one number a call, thousands of times. Here such a call goes through one thread and one transaction that
finds the caller's right, the run and everything else it needs (db/point_writes.py). Only the plain case is taken;
whatever else there is to say, refusals included, is left to the usual services (`reports.take_report`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from logging import getLogger
from queue import Empty, SimpleQueue

from millpond.db import point_writes
from millpond.db.direct import DirectConnection, DirectTx
from millpond.db.point_writes import PointWrite, WritableRun
from millpond.decide.point_batch import PointBatch
from millpond.services.deps import Deps
from millpond.services.runs.reports import MOST_UNFOLDED

logger = getLogger(__name__)

_MOST_AT_ONCE = 200
_IDLE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class LoggedPoints:
    """Points for one run, with the hash of the token that came with them."""

    token: bytes
    project: str
    run_id: str
    batch: PointBatch
    # As in a RunReport: a batch that comes again counts once.
    writer: str | None = None
    sequence: int = 0


# Told once: True when the points are durable (or were before), False if the usual services must decide.
Told = Callable[[bool], None]


class PointIntake:
    """Thread-safe. Its thread lives while there is something to do."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._waiting: SimpleQueue[tuple[LoggedPoints, Told]] = SimpleQueue()
        self._lock = threading.Lock()
        self._is_running = False

    def take(self, logged: LoggedPoints, told: Told) -> None:
        """`told` is called from another thread."""
        self._waiting.put((logged, told))
        with self._lock:
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._work, name="points", daemon=True).start()

    def _work(self) -> None:
        """Until nothing has come for a moment. After an error, with another connection."""
        while True:
            try:
                with closing(DirectConnection(self._deps.db)) as connection:
                    while group := self._next():
                        self._take_all(group, connection)
                    if self._is_over():
                        return
            except Exception:
                # The edge of the thread. Those that were refused are tried by themselves now.
                logger.warning("points_not_written", exc_info=True)

    def _next(self) -> Sequence[tuple[LoggedPoints, Told]]:
        """Everything that waits; empty after a moment without anything."""
        try:
            group = [self._waiting.get(timeout=_IDLE_SECONDS)]
        except Empty:
            return ()
        while len(group) < _MOST_AT_ONCE and not self._waiting.empty():
            group.append(self._waiting.get())
        return group

    def _take_all(self, group: Sequence[tuple[LoggedPoints, Told]], connection: DirectConnection) -> None:
        written: Sequence[WritableRun | None] = [None] * len(group)
        try:
            written = write_group(self._deps, connection, [logged for logged, _ in group])
        finally:
            for (_, told), run in zip(group, written, strict=True):
                told(run is not None)
        # Pages hear of it after those who wait for their answer.
        self._publish({run.id: (one.project, run) for (one, _), run in zip(group, written, strict=True) if run})

    def _publish(self, changed: Mapping[str, tuple[str, WritableRun]]) -> None:
        for project, run in changed.values():
            data = {"project": project, "id": run.id, "what": "batch", "state": run.state.value}
            self._deps.events.publish(f"run:{run.id}", project_id=run.project_id, data=data)

    def _is_over(self) -> bool:
        with self._lock:
            self._is_running = not self._waiting.empty()
            return not self._is_running


def write_group(
    deps: Deps, connection: DirectConnection, group: Sequence[LoggedPoints]
) -> Sequence[WritableRun | None]:
    """Write what can be written, in one transaction; the run of each that is durable now."""
    now = deps.clock.now()
    written: list[WritableRun | None] = [None] * len(group)
    with suppress(_Repeated), connection.write() as tx:
        found = _find_all(tx, group, now)
        writes = [
            PointWrite(run, one.batch, one.writer, one.sequence)
            for run, one in zip(found, group, strict=True)
            if run is not None
        ]
        if not point_writes.write_all(tx, writes, now):
            raise _Repeated
        written = found
    return written


class _Repeated(Exception):
    """A batch that was taken before: rare enough to leave all of its group to the usual services."""


def _find_all(tx: DirectTx, group: Sequence[LoggedPoints], now: datetime) -> list[WritableRun | None]:
    asked = [point_writes.find_writable(tx, one.run_id, project=one.project, token=one.token, now=now) for one in group]
    found = [point_writes.writable(one.run_id, answer) for one, answer in zip(group, asked, strict=True)]
    # The batch that folds the others takes its time: not here, where everybody waits.
    return [run if run is not None and run.unfolded + 1 < MOST_UNFOLDED else None for run in found]
