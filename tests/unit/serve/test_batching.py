"""Which requests run together: tables of queues, with instances that wait until they are told to go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest

from millpond.serve.backends.base import Arrays
from millpond.serve.batching import Done, Scheduler, Work
from millpond.serve.config import Batching, QueuePolicy
from millpond.serve.errors import ServeError
from millpond.serve.request import InferRequest
from millpond.serve.statistics import BatchTimes, Statistics
from millpond.serve.tensors import Tensor


class Gate:
    """An instance that runs a batch only when it is let, and remembers the sizes of its batches."""

    inline = False

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)

    def execute(self, requests: Sequence[InferRequest], times: BatchTimes) -> list[Arrays | ServeError]:
        self.batches.append([request.id for request in requests])
        self.begun.release()
        self.go.acquire()
        return [{"y": request.inputs[0].array} for request in requests]

    def close(self) -> None: ...


class Queue:
    """A scheduler and what became of the requests that it got."""

    def __init__(self, batching: Batching | None, max_batch: int = 8, instances: int = 1) -> None:
        self.gates = [Gate() for _ in range(instances)]
        self.statistics = Statistics()
        self.scheduler = Scheduler("m", self.gates, max_batch, batching, self.statistics)
        self.results: dict[str, Arrays | ServeError] = {}
        self._told = threading.Semaphore(0)

    def submit(self, name: str, rows: int = 1, *, key: str = "", timeout_us: int = 0) -> None:
        array = np.zeros((rows, 1), np.float32)
        request = InferRequest("m", (Tensor("x", "FP32", array),), id=name, timeout_us=timeout_us)
        self.scheduler.submit(Work(request, rows, key, self._done(name), time.monotonic_ns()))

    def submit_while_busy(self, *requests: tuple[str, int]) -> None:
        """Bring them while the only instance runs another one, then let that go on."""
        self.submit("first")
        self.gates[0].begun.acquire()
        for name, rows in requests:
            self.submit(name, rows)

    def finish(self, *, told: int, batches: int) -> None:
        for gate in self.gates:
            for _ in range(batches):
                gate.go.release()
        for _ in range(told):
            self._told.acquire()
        self.scheduler.close()

    def _done(self, name: str) -> Done:
        def done(result: Arrays | ServeError) -> None:
            self.results[name] = result
            self._told.release()

        return done


@pytest.mark.parametrize(
    ("batching", "waiting", "batches"),
    [
        (Batching(), [("a", 1), ("b", 2), ("c", 3)], [["a", "b", "c"]]),
        (Batching(), [("a", 4), ("b", 4), ("c", 1)], [["a", "b"], ["c"]]),
        (Batching(), [("a", 7), ("b", 2), ("c", 6)], [["a"], ["b", "c"]]),
        (None, [("a", 1), ("b", 1)], [["a"], ["b"]]),
        (Batching(preferred=(4,), delay_us=10), [("a", 2), ("b", 2), ("c", 1)], [["a", "b"], ["c"]]),
        (Batching(preferred=(2, 4), delay_us=10), [("a", 1), ("b", 1), ("c", 1)], [["a", "b"], ["c"]]),
    ],
)
def test_takes_what_waits_when_an_instance_is_free(
    batching: Batching | None, waiting: list[tuple[str, int]], batches: list[list[str]]
) -> None:
    queue = Queue(batching)
    queue.submit_while_busy(*waiting)
    queue.finish(told=1 + len(waiting), batches=10)
    assert queue.gates[0].batches == [["first"], *batches]
    assert all(not isinstance(result, ServeError) for result in queue.results.values())
    queue.statistics.add_up()
    assert queue.statistics.execution_count == 1 + len(batches)
    assert queue.statistics.inference_count == 1 + sum(rows for _, rows in waiting)


def test_requests_of_other_shapes_run_apart() -> None:
    queue = Queue(Batching())
    queue.submit_while_busy()
    for name, key in (("a", "wide"), ("b", "wide"), ("c", "narrow"), ("d", "wide")):
        queue.submit(name, key=key)
    queue.finish(told=5, batches=10)
    assert queue.gates[0].batches == [["first"], ["a", "b"], ["c"], ["d"]]


def test_waits_for_a_preferred_size_no_longer_than_the_delay() -> None:
    queue = Queue(Batching(preferred=(2,), delay_us=3_600_000_000))
    queue.submit("a")
    queue.submit("b")
    queue.gates[0].begun.acquire()
    assert queue.gates[0].batches == [["a", "b"]]
    queue.submit("c")
    # Closing waits for nobody else.
    queue.finish(told=2, batches=10)
    assert queue.gates[0].batches == [["a", "b"], ["c"]]

    soon = Queue(Batching(preferred=(2,), delay_us=1000))
    soon.submit("alone")
    soon.finish(told=1, batches=1)
    assert soon.gates[0].batches == [["alone"]]


def test_a_full_queue_says_when_to_come_back() -> None:
    queue = Queue(Batching(queue=QueuePolicy(max_size=2)))
    queue.submit_while_busy(("a", 1), ("b", 1))
    with pytest.raises(ServeError, match="full") as caught:
        queue.submit("c")
    assert (caught.value.status, caught.value.retry_after) == (429, 1)
    queue.finish(told=3, batches=10)
    assert queue.statistics.failures["REJECTED"] == 1


@pytest.mark.parametrize(("late", "served"), [(False, False), (True, True)])
def test_requests_that_waited_too_long_are_told_or_served_last(late: bool, served: bool) -> None:
    queue = Queue(Batching(queue=QueuePolicy(delay_when_late=late)), max_batch=1)
    queue.submit_while_busy()
    queue.submit("a", timeout_us=1)
    queue.submit("b")
    queue.finish(told=3, batches=10)
    assert queue.gates[0].batches == [["first"], ["b"], *([["a"]] if served else [])]
    result = queue.results["a"]
    assert isinstance(result, ServeError) is not served
    if isinstance(result, ServeError):
        assert result.status == 504


def test_a_request_may_set_its_own_timeout_only_where_it_is_allowed() -> None:
    for allowed, status in ((True, 504), (False, None)):
        policy = QueuePolicy(timeout_us=60_000_000, allow_timeout_override=allowed)
        queue = Queue(Batching(queue=policy))
        queue.submit_while_busy()
        queue.submit("a", timeout_us=1)
        queue.finish(told=2, batches=10)
        assert getattr(queue.results["a"], "status", None) == status


def test_instances_run_beside_each_other() -> None:
    queue = Queue(None, instances=2)
    queue.submit("a")
    queue.submit("b")
    queue.gates[0].begun.acquire()
    queue.gates[1].begun.acquire()
    queue.finish(told=2, batches=1)
    assert sorted(gate.batches for gate in queue.gates) == [[["a"]], [["b"]]]


def test_a_wrong_number_of_answers_is_an_error_of_all() -> None:
    class Forgets(Gate):
        def execute(self, requests: Sequence[InferRequest], times: BatchTimes) -> list[Arrays | ServeError]:
            return []

    queue = Queue(None)
    queue.scheduler.close()
    queue.scheduler = Scheduler("m", [Forgets()], 1, None, queue.statistics)
    queue.submit("a")
    queue.finish(told=1, batches=0)
    assert isinstance(queue.results["a"], ServeError)
    with pytest.raises(ServeError, match="unloaded"):
        queue.submit("b")
