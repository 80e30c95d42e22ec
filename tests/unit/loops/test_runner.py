"""Loops run when woken or when it is time, go on after an error, and stop when asked."""

from __future__ import annotations

import queue
import threading
from datetime import datetime

import pytest

from millpond.loops import runner as runner_module
from millpond.loops.runner import Loop, LoopRunner
from millpond.services.events import EventHub
from millpond.testing.clock import NOON, FakeClock

LONG = 3600.0
DEADLINE = 10.0


def test_runs_at_start_and_when_woken() -> None:
    hub, calls = EventHub(), queue.Queue[datetime]()
    loops = LoopRunner([Loop("test", "topic", LONG, calls.put)], clock=FakeClock(), hub=hub)
    loops.start()
    assert calls.get(timeout=DEADLINE) == NOON
    hub.wake("topic")
    assert calls.get(timeout=DEADLINE) == NOON
    hub.wake("another topic")
    loops.stop()
    assert calls.empty()


def test_runs_when_the_interval_is_over() -> None:
    calls = queue.Queue[datetime]()
    loops = LoopRunner([Loop("test", "topic", 0.01, calls.put)], clock=FakeClock(), hub=EventHub())
    loops.start()
    for _ in range(3):
        calls.get(timeout=DEADLINE)
    loops.stop()


def test_wake_during_the_work_runs_it_again() -> None:
    hub, calls, go_on = EventHub(), queue.Queue[datetime](), threading.Event()

    def work(now: datetime) -> None:
        calls.put(now)
        go_on.wait(DEADLINE)

    loops = LoopRunner([Loop("test", "topic", LONG, work)], clock=FakeClock(), hub=hub)
    loops.start()
    calls.get(timeout=DEADLINE)
    hub.wake("topic")
    go_on.set()
    calls.get(timeout=DEADLINE)
    loops.stop()


def test_an_error_is_logged_and_the_loop_goes_on(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "_REST_SECONDS", 0.01)
    calls = queue.Queue[datetime]()

    def fail(now: datetime) -> None:
        calls.put(now)
        raise RuntimeError("broken")

    loops = LoopRunner([Loop("test", "topic", 0.01, fail)], clock=FakeClock(), hub=EventHub())
    loops.start()
    calls.get(timeout=DEADLINE)
    calls.get(timeout=DEADLINE)
    loops.stop()
    assert "loop_failed loop=test" in caplog.text and "broken" in caplog.text
