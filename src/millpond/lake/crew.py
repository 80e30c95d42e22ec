"""Processes that fetch side by side: creating small files is bound by Python itself, of which each runs its own.

Each takes orders over a pipe and answers them; what it may read comes with the order, as a signed URL.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import NamedTuple

from millpond.errors import MillError, VolumeProblem, by_code
from millpond.lake.fetch_orders import Written
from millpond.lake.nursery import Nursery
from millpond.lake.range_reader import Came
from millpond.lake.range_writes import Order
from millpond.lake.target import Target
from millpond.lake.worker import Worker
from millpond.lake.writer_process import ARRIVED, receive, send
from millpond.lake.writer_start import start_writer

_LEAST_FILES = 5000
PROCESSES = min(4, os.cpu_count() or 1)
# Orders in the hands of one process: two being carried out, and one to go on with.
_AT_ONCE = 3


class Crew:
    """Carries orders out below `target`, which stays open meanwhile. Leaving the block ends every process.

    Members are copies of this process, or if it has threads of the `nursery`'s: one of their own, unless it is given.
    """

    def __init__(
        self, target: Target, count: int, nursery: Nursery | None = None, came: Came = lambda size: None
    ) -> None:
        """`came` is told of bytes as a Carrier's is, by any thread. It must not raise."""
        self._stack = ExitStack()
        home = nursery or self._stack.enter_context(closing(Nursery()))
        self._members = [_Member(start_writer(home), came) for _ in range(count)]
        # Only now: while members are made, this process should have no threads but those it came with.
        for member in self._members:
            member.begin(target)
        self._idle: queue.SimpleQueue[_Member] = queue.SimpleQueue()
        for _ in range(_AT_ONCE):
            for member in self._members:
                self._idle.put(member)

    def carry_out(self, url: str, order: Order, tell: Written = lambda done: None) -> int:
        """Wait until the order is carried out, or raise what stood in its way. Called from several threads.

        `url` is where its pack lies. Returns for how many of its blobs that is done: all, unless the URL does not work
        (any more).
        """
        member = self._idle.get()
        try:
            answers = member.ask(url, order)
            while True:
                answer = answers.get()
                if answer.error is not None:
                    raise answer.error
                tell(answer.done)
                if answer.is_last:
                    return answer.done
        finally:
            self._idle.put(member)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.end()
        self._stack.close()


class _Answer(NamedTuple):
    """For how many blobs an order is carried out, so far or at last; or what stood in its way."""

    done: int
    is_last: bool
    error: MillError | None = None


_Answers = queue.SimpleQueue[_Answer]


class _Member:
    def __init__(self, process: Worker, came: Came) -> None:
        self._came = came
        self._lock = threading.Lock()
        self._waiting: dict[int, _Answers] = {}
        self._asked = 0
        self._is_gone = False
        self._process = process
        self._listener = threading.Thread(target=self._listen, name="crew-listen", daemon=True)

    def begin(self, target: Target) -> None:
        self._tell((os.fsencode(Path(os.fsdecode(target.root)).absolute()), target.read_only, target.exact_modes))
        self._listener.start()

    def ask(self, url: str, order: Order) -> _Answers:
        answers: _Answers = queue.SimpleQueue()
        with self._lock:
            if self._is_gone:
                answers.put(_gone())
                return answers
            self._asked += 1
            self._waiting[self._asked] = answers
            self._tell((self._asked, url, order))
        return answers

    def end(self) -> None:
        """Whatever it is doing. What it has written stays."""
        self._process.kill()
        with self._lock, suppress(BrokenPipeError):  # an order that was on its way
            self._is_gone = True
            self._process.orders.close()
        self._listener.join()
        self._process.answers.close()

    def _tell(self, message: object) -> None:
        try:
            send(self._process.orders, message)
        except BrokenPipeError:  # the listener tells all who wait
            return

    def _listen(self) -> None:
        while (answer := receive(self._process.answers)) is not None:
            number, done, is_last, code, text, hint = answer
            if number == ARRIVED:
                self._came(done)
                continue
            with self._lock:
                answers = self._waiting.pop(number) if is_last else self._waiting[number]
            answers.put(_Answer(done, is_last, by_code(code)(text, hint=hint) if code else None))
        with self._lock:
            self._is_gone = True
        for answers in self._waiting.values():
            answers.put(_gone())


def _gone() -> _Answer:
    error = VolumeProblem(
        "A process that was writing files ended before its work was done.",
        hint="The machine may be short of memory. Try again.",
    )
    return _Answer(0, True, error)


def processes_for(files: int) -> int:
    """Starting the processes takes as long as writing some thousand files."""
    return PROCESSES if files >= _LEAST_FILES and PROCESSES > 1 and sys.executable else 0


def orders_at_once(processes: int) -> int:
    return _AT_ONCE * processes
