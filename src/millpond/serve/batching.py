"""Which requests run together, when, and on which instance of a model.

Requests are collected while the instances are busy: a free one takes what waits, at once unless a delay is configured.
A quick model runs in the thread that brought the request; a slow one in a thread of its own, so that requests are
still read while it computes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from .backends.base import Arrays, Backend
from .backends.stacked import told
from .config import Batching, QueuePolicy
from .errors import ServeError
from .request import InferRequest
from .statistics import BatchTimes, Statistics

Result = Arrays | ServeError
Done = Callable[[Result], None]

# Runs quicker than this, on average, are worth no change of threads: that costs about a tenth of it.
INLINE_NS = 400_000
_NO_POLICY = QueuePolicy()


@dataclass(slots=True)
class Work:
    """A request that waits. `rows` is its part of a batch; only works of equal `key` share one. Times in ns."""

    request: InferRequest
    rows: int
    key: Hashable
    done: Done
    arrived: int
    deadline: int = 0


class Scheduler:
    """The queue of one model version and its instances. `done` is called once for each request, in any thread."""

    def __init__(
        self, name: str, instances: Sequence[Backend], max_batch: int, batching: Batching | None, statistics: Statistics
    ) -> None:
        self._max_batch = max_batch if batching else 1
        self._batching = batching or Batching()
        self._queue = batching.queue if batching else _NO_POLICY
        self._statistics = statistics
        self._free = list(instances)
        self._count = len(instances)
        self._waiting: deque[Work] = deque()
        # Those that waited too long and may be served when nobody else waits.
        self._late: deque[Work] = deque()
        # Taken by itself where nobody waits: a condition's own way to it is slower.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._closing = False
        # Until the first runs are measured, they are not trusted to be quick.
        self._average_ns = float(INLINE_NS)
        self._inline = all(instance.inline for instance in instances) and not self._batching.delay_us
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{index}", daemon=True) for index in range(self._count)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pending(self) -> int:
        """Requests that wait for an instance."""
        return len(self._waiting) + len(self._late)

    def submit(self, work: Work) -> None:
        """Take a request; its `done` may be called before this returns."""
        work.deadline = self._deadline(work)
        with self._lock:
            if self._closing:
                raise ServeError(503, "the model is being unloaded", retry_after=1)
            instance = self._take_inline()
            if instance is None:
                limit = self._queue.max_size
                if limit and len(self._waiting) >= limit:
                    self._statistics.failed(0, "REJECTED")
                    raise ServeError(429, f"the queue of the model is full: {limit} requests wait", retry_after=1)
                self._waiting.append(work)
                self._changed.notify()
        if instance is not None:
            self._run(instance, [work])

    def close(self) -> None:
        """Serve what waits, then end the threads. Nothing is taken any longer."""
        with self._lock:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        with self._lock:
            while len(self._free) < self._count:
                self._changed.wait()

    def _deadline(self, work: Work) -> int:
        timeout = self._queue.timeout_us
        asked = work.request.timeout_us
        if asked and (self._queue.allow_timeout_override or not timeout):
            timeout = asked
        return work.arrived + timeout * 1000 if timeout else 0

    def _take_inline(self) -> Backend | None:
        if self._inline and self._free and not self._waiting and self._average_ns < INLINE_NS:
            return self._free.pop()
        return None

    def _work(self) -> None:
        while True:
            with self._lock:
                batch, expired = self._next()
                instance = self._free.pop() if batch else None
            for work in expired:
                self._expire(work)
            if instance is not None:
                self._run(instance, batch)
            elif not expired:
                return

    def _next(self) -> tuple[list[Work], list[Work]]:
        """Wait for a batch and a free instance, or for requests whose time is over; neither means the end."""
        while True:
            expired = self._take_expired()
            if expired:
                return [], expired
            if self._free and (self._waiting or self._late):
                batch, wait = self._form(time.monotonic_ns())
                if batch:
                    return batch, []
                self._changed.wait(wait)
                continue
            if self._closing and not self._waiting and not self._late:
                return [], []
            self._changed.wait()

    def _take_expired(self) -> list[Work]:
        if not any(work.deadline for work in self._waiting):
            return []
        now = time.monotonic_ns()
        expired = [work for work in self._waiting if work.deadline and work.deadline <= now]
        if expired:
            self._waiting = deque(work for work in self._waiting if not work.deadline or work.deadline > now)
        if self._queue.delay_when_late:
            self._late.extend(expired)
            return []
        return expired

    def _form(self, now: int) -> tuple[list[Work], float]:
        """The next batch; or none yet, and how many seconds to wait for more."""
        queue = self._waiting or self._late
        count, rows, preferred = 0, 0, 0
        key = queue[0].key
        for work in queue:
            if count and (work.key != key or rows + work.rows > self._max_batch):
                break
            count += 1
            rows += work.rows
            if rows in self._batching.preferred:
                preferred = count
            if self._max_batch == 1:
                break
        held_up = count < len(queue) or rows >= self._max_batch
        due = queue[0].arrived + self._batching.delay_us * 1000
        if not preferred and not held_up and now < due and not self._closing:
            return [], (due - now) / 1e9
        # A preferred size is worth waiting for the rest; what no preferred size can be made of goes as it is.
        take = preferred if preferred and self._batching.delay_us else count
        return [queue.popleft() for _ in range(take)], 0.0

    def _expire(self, work: Work) -> None:
        self._statistics.failed(time.monotonic_ns() - work.arrived, "REJECTED")
        work.done(ServeError(504, "the request waited longer than its timeout"))

    def _run(self, instance: Backend, batch: list[Work]) -> None:
        began = time.monotonic_ns()
        times = BatchTimes()
        results: Sequence[Result]
        try:
            results = instance.execute([work.request for work in batch], times)
            if len(results) != len(batch):
                raise ServeError(500, f"the model gave {len(results)} answers to {len(batch)} requests")
        except Exception as error:  # noqa: BLE001 - whatever a model raises is told to its clients
            results = [told(error)] * len(batch)
        ended = time.monotonic_ns()
        # A run that something else held up says little of the next ones: it counts as a slow one, not as what it took.
        self._average_ns += 0.1 * (min(ended - began, 2 * INLINE_NS) - self._average_ns)
        with self._lock:
            self._free.append(instance)
            if self._waiting or self._late or self._closing:
                self._changed.notify_all()
        self._count_batch(batch, results, began, ended, times)
        for work, result in zip(batch, results, strict=True):
            work.done(result)

    def _count_batch(
        self, batch: list[Work], results: Sequence[Result], began: int, ended: int, times: BatchTimes
    ) -> None:
        rows, good, waited = 0, 0, 0
        for work, result in zip(batch, results, strict=True):
            if isinstance(result, ServeError):
                self._statistics.failed(ended - began, "BACKEND")
            else:
                rows += work.rows
                good += 1
                waited += began - work.arrived
        if good:
            self._statistics.executed(rows, good, waited, times)
