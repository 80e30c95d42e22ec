"""Points that clients log, taken many requests at a time: one transaction, one fsync, then each is acknowledged.

A training logs one number a call, thousands of times. Here such a call goes through one thread and one transaction that
finds the caller's right, the run and everything else it needs (db/point_writes.py). Only the plain case is taken;
whatever else there is to say, refusals included, is left to the usual services (`reports.take_report`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from logging import getLogger
from queue import Empty, SimpleQueue

from millpond.db import metrics, point_writes, runs
from millpond.db.direct import DirectConnection, DirectTx
from millpond.db.point_writes import WritableRun
from millpond.model.series import Points
from millpond.services.deps import Deps
from millpond.services.runs.reports import MOST_UNFOLDED

logger = getLogger(__name__)

_MOST_AT_ONCE = 200
_IDLE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class LoggedPoints:
    """Points, none of them empty, for one run, with the hash of the token that came with them."""

    token: bytes
    project: str
    run_id: str
    points: Mapping[str, Points]
    # As in a RunReport: a batch that comes again counts once.
    writer: str | None = None
    sequence: int = 0
    # The columns of all points, if they came packed (model/point_bytes.py).
    packed: bytes | None = None


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
                with closing(DirectConnection(self._deps.db.engine)) as connection:
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
        answers: Sequence[bool] = [False] * len(group)
        try:
            answers = write_group(self._deps, connection, [logged for logged, _ in group])
        finally:
            for (_, told), answer in zip(group, answers, strict=True):
                told(answer)

    def _is_over(self) -> bool:
        with self._lock:
            self._is_running = not self._waiting.empty()
            return not self._is_running


def write_group(deps: Deps, connection: DirectConnection, group: Sequence[LoggedPoints]) -> Sequence[bool]:
    """Write what can be written, in one transaction; whether each is durable now."""
    now = deps.clock.now()
    written: dict[int, WritableRun] = {}
    with connection.write() as tx:
        for place, logged in enumerate(group):
            if (run := _write(tx, logged, now)) is not None:
                written[place] = run
    for logged, run in {group[place].run_id: (group[place], run) for place, run in written.items()}.values():
        data = {"project": logged.project, "id": run.id, "what": "batch", "state": run.state.value}
        deps.events.publish(f"run:{run.id}", project_id=run.project_id, data=data)
    return [place in written for place in range(len(group))]


def _write(tx: DirectTx, logged: LoggedPoints, now: datetime) -> WritableRun | None:
    run = point_writes.find_writable(tx, logged.run_id, project=logged.project, token=logged.token, now=now)
    # The batch that folds the others takes its time: not here, where everybody waits.
    if run is None or run.unfolded + 1 >= MOST_UNFOLDED:
        return None
    if logged.writer is None or runs.take_sequence(tx, run.id, logged.writer, logged.sequence):
        metrics.add(tx, run, logged.points, logged.packed)
        point_writes.count_batch(tx, run.id, now)
    return run
