"""What a model version did, counted as Triton counts it: numbers and nanoseconds since it was loaded."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(slots=True)
class Duration:
    count: int = 0
    ns: int = 0

    def add(self, count: int, ns: int) -> None:
        self.count += count
        self.ns += ns

    def told(self) -> dict[str, int]:
        return {"count": self.count, "ns": self.ns}


@dataclass(slots=True)
class BatchTimes:
    """How long one execution took: making its inputs, computing, cutting its outputs."""

    input_ns: int = 0
    infer_ns: int = 0
    output_ns: int = 0


@dataclass(slots=True)
class _OfBatchSize:
    input: Duration = field(default_factory=Duration)
    infer: Duration = field(default_factory=Duration)
    output: Duration = field(default_factory=Duration)


class _Execution(NamedTuple):
    rows: int
    requests: int
    waited_ns: int
    times: BatchTimes
    ended_ms: int


# Executions that wait to be added up: that costs as much as a small model.
_MOST_RECENT = 512


class Statistics:
    """Of one model version. Any thread may add; `failures` are by reason, as Prometheus shows them.

    Counters are complete after `add_up`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # An append needs no lock.
        self._recent: deque[_Execution] = deque()
        self.last_inference_ms = 0
        self.inference_count = 0
        self.execution_count = 0
        self.success = Duration()
        self.fail = Duration()
        self.queue = Duration()
        self.compute_input = Duration()
        self.compute_infer = Duration()
        self.compute_output = Duration()
        self.failures = {"REJECTED": 0, "CANCELED": 0, "BACKEND": 0, "OTHER": 0}
        self._batches: dict[int, _OfBatchSize] = {}

    def executed(self, rows: int, requests: int, waited_ns: int, times: BatchTimes) -> None:
        """One execution of `rows` elements for so many requests, which was no failure."""
        self._recent.append(_Execution(rows, requests, waited_ns, times, time.time_ns() // 1_000_000))
        if len(self._recent) >= _MOST_RECENT:
            self.add_up()

    def add_up(self) -> None:
        with self._lock:
            while self._recent:
                self._add(self._recent.popleft())

    def _add(self, one: _Execution) -> None:
        requests, times = one.requests, one.times
        compute = times.input_ns + times.infer_ns + times.output_ns
        self.last_inference_ms = one.ended_ms
        self.inference_count += one.rows
        self.execution_count += 1
        self.success.add(requests, one.waited_ns + compute * requests)
        self.queue.add(requests, one.waited_ns)
        self.compute_input.add(requests, times.input_ns * requests)
        self.compute_infer.add(requests, times.infer_ns * requests)
        self.compute_output.add(requests, times.output_ns * requests)
        batch = self._batches.get(one.rows)
        if batch is None:
            batch = self._batches[one.rows] = _OfBatchSize()
        batch.input.add(1, times.input_ns)
        batch.infer.add(1, times.infer_ns)
        batch.output.add(1, times.output_ns)

    def failed(self, ns: int, reason: str = "OTHER") -> None:
        with self._lock:
            self.fail.add(1, ns)
            self.failures[reason] += 1

    def told(self, name: str, version: str) -> dict[str, Any]:
        """As an entry of `model_stats` in the answer to `/stats`."""
        self.add_up()
        with self._lock:
            return {
                "name": name,
                "version": version,
                "last_inference": self.last_inference_ms,
                "inference_count": self.inference_count,
                "execution_count": self.execution_count,
                "inference_stats": {
                    "success": self.success.told(),
                    "fail": self.fail.told(),
                    "queue": self.queue.told(),
                    "compute_input": self.compute_input.told(),
                    "compute_infer": self.compute_infer.told(),
                    "compute_output": self.compute_output.told(),
                    "cache_hit": {"count": 0, "ns": 0},
                    "cache_miss": {"count": 0, "ns": 0},
                },
                "response_stats": {},
                "batch_stats": [
                    {
                        "batch_size": size,
                        "compute_input": batch.input.told(),
                        "compute_infer": batch.infer.told(),
                        "compute_output": batch.output.told(),
                    }
                    for size, batch in sorted(self._batches.items())
                ],
                "memory_usage": [],
            }
