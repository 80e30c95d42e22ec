"""Prometheus numbers of a server process."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry

from millpond.api.metrics.process import LoopMetrics, ProcessMetrics
from millpond.loops.runner import Loop, LoopRunner
from millpond.services.events import EventHub
from millpond.testing.clock import FakeClock


def test_rounds_of_loops_are_counted_by_outcome() -> None:
    registry = CollectorRegistry()
    rounds, done = iter([None, OSError("away")]), threading.Event()

    def run_once(now: datetime) -> None:
        if (error := next(rounds, None)) is not None:
            done.set()
            raise error

    told = LoopMetrics(registry).observe
    hub = EventHub()
    loop = Loop("evict", topic="evict", interval=0.001, run_once=run_once)
    runner = LoopRunner([loop], clock=FakeClock(datetime(2026, 1, 1, tzinfo=UTC)), hub=hub, told=told)
    runner.start()
    assert done.wait(10)
    runner.stop()

    def rounds_that(outcome: str) -> float | None:
        return registry.get_sample_value("millpond_loop_rounds_total", {"loop": "evict", "outcome": outcome})

    assert rounds_that("failed") == 1 and (rounds_that("done") or 0) >= 1
    assert (registry.get_sample_value("millpond_loop_seconds_total", {"loop": "evict"}) or 0) > 0


def test_what_a_process_holds_open() -> None:
    registry = CollectorRegistry()
    registry.register(ProcessMetrics(EventHub(), registry))
    assert registry.get_sample_value("millpond_event_streams") == 0
    assert registry.get_sample_value("millpond_agents_waiting") == 0
    assert (registry.get_sample_value("millpond_process_resident_memory_bytes") or 0) > 1e6
