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
            sums: dict[tuple[int, int], list[int]] = {}
            while self._recent:
                rows, requests, waited, times, self.last_inference_ms = self._recent.popleft()
                found = sums.get((rows, requests))
                if found is None:
                    found = sums[rows, requests] = [0, 0, 0, 0, 0]
                found[0] += 1
                found[1] += waited
                found[2] += times.input_ns
                found[3] += times.infer_ns
                found[4] += times.output_ns
            for (rows, requests), found in sums.items():
                self._add(rows, requests, *found)

    def _add(
        self, rows: int, requests: int, count: int, waited_ns: int, input_ns: int, infer_ns: int, output_ns: int
    ) -> None:
        """So many executions, each of as many rows for as many requests."""
        all_requests = requests * count
        self.inference_count += rows * count
        self.execution_count += count
        self.success.add(all_requests, waited_ns + (input_ns + infer_ns + output_ns) * requests)
        self.queue.add(all_requests, waited_ns)
        self.compute_input.add(all_requests, input_ns * requests)
        self.compute_infer.add(all_requests, infer_ns * requests)
        self.compute_output.add(all_requests, output_ns * requests)
        batch = self._batches.get(rows)
        if batch is None:
            batch = self._batches[rows] = _OfBatchSize()
        batch.input.add(count, input_ns)
        batch.infer.add(count, infer_ns)
        batch.output.add(count, output_ns)

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
