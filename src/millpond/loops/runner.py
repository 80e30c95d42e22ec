"""Runs loops: a thread for each, which calls `run_once(now)` when it is woken or when its interval is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from logging import getLogger

from sqlalchemy.exc import InterfaceError, OperationalError

from millpond import tracing
from millpond.errors import LakeTakenOver, Unavailable
from millpond.services.deps import Clock
from millpond.services.events import EventHub
from millpond.services.leadership import Leadership, OnlyServer

logger = getLogger(__name__)

# After an error a loop rests at least this long, however often it is woken; after a long round at most.
_REST_SECONDS = 1.0
# While the database or the lake is away.
_AWAY_REST_SECONDS = 2.0
# Once the lake is another server's, the log says so once a minute, or more rarely.
_FENCED_REST_SECONDS = 60.0
# How soon another server goes on with what one did that has ended.
_FOLLOW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Loop:
    """`run_once` may be called at any time and again; `topic` is what services wake it by.

    After a round it rests for `spacing` seconds, or as long as the round took: what happens together is looked at
    together, and a queue that is long to look at leaves the server time for everybody else.
    """

    name: str
    topic: str
    interval: float
    run_once: Callable[[datetime], object]
    spacing: float = 0.0
    # Of several servers on one database only one runs it at a time.
    once: bool = False


class LoopRunner:
    """Started once, stopped once. A loop that raises is logged here, at its edge, and goes on."""

    def __init__(
        self,
        loops: Sequence[Loop],
        *,
        clock: Clock,
        hub: EventHub,
        leadership: Leadership | None = None,
        told: Callable[[str, float, bool], None] = lambda loop, seconds, failed: None,
    ) -> None:
        """`told` hears of each round: the loop's name, how long it took, and whether it failed."""
        self._clock, self._told = clock, told
        self._leadership = leadership or OnlyServer()
        self._stopping = threading.Event()
        self._bells = [threading.Event() for _ in loops]
        self._threads = [
            threading.Thread(target=self._run, args=(loop, bell), name=f"loop {loop.name}", daemon=True)
            for loop, bell in zip(loops, self._bells, strict=True)
        ]
        for loop, bell in zip(loops, self._bells, strict=True):
            hub.bell(loop.topic, bell)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Wait until every loop has finished what it is doing; one that takes longer ends with the process."""
        self._stopping.set()
        for bell in self._bells:
            bell.set()
        for thread in self._threads:
            thread.join(timeout)
            if thread.is_alive():
                logger.warning("loop_not_stopped loop=%s", thread.name)

    def _run(self, loop: Loop, bell: threading.Event) -> None:
        while not self._stopping.is_set():
            # Cleared before the work: what happens meanwhile wakes the loop again.
            bell.clear()
            if self._stopping.is_set():
                return
            if loop.once and not self._leadership.is_ours(loop.name):
                self._stopping.wait(min(loop.interval, _FOLLOW_SECONDS))
                continue
            began, failed = time.monotonic(), True
            try:
                with tracing.span(f"loop {loop.name}"):
                    loop.run_once(self._clock.now())
                failed = False
            except LakeTakenOver as error:  # every loop that writes to the lake says so, again and again
                logger.warning("loop_stopped loop=%s reason=%s", loop.name, error.message)
                self._stopping.wait(max(_REST_SECONDS, min(loop.interval, _FENCED_REST_SECONDS)))
            except (OperationalError, InterfaceError, Unavailable) as error:  # it goes on by itself once that is back
                logger.warning("loop_waits loop=%s reason=%s", loop.name, str(error).partition("\n")[0])
                self._stopping.wait(_AWAY_REST_SECONDS)
            except Exception:
                logger.exception("loop_failed loop=%s", loop.name)
                self._stopping.wait(_REST_SECONDS)
            took = time.monotonic() - began
            self._told(loop.name, took, failed)
            if loop.spacing:
                self._stopping.wait(max(loop.spacing, min(took, _REST_SECONDS)))
            bell.wait(loop.interval)
