"""Processes that fetch side by side: creating small files is bound by Python itself, of which each runs its own.

Each takes orders over a pipe and answers them; what it may read comes with the order, as a signed URL.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from concurrent.futures import Future
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from millpond.errors import VolumeProblem, by_code
from millpond.lake.nursery import Nursery
from millpond.lake.range_writes import Order
from millpond.lake.target import Target
from millpond.lake.worker import Worker
from millpond.lake.writer_process import receive, send
from millpond.lake.writer_start import start_writer

_LEAST_FILES = 5000
PROCESSES = min(4, os.cpu_count() or 1)
# Orders in the hands of one process: two being carried out, and one to go on with.
_AT_ONCE = 3


class Crew:
    """Carries orders out below `target`, which stays open meanwhile. Leaving the block ends every process.

    Members are copies of this process, or if it has threads of the `nursery`'s: one of their own, unless it is given.
    """

    def __init__(self, target: Target, count: int, nursery: Nursery | None = None) -> None:
        self._stack = ExitStack()
        home = nursery or self._stack.enter_context(closing(Nursery()))
        self._members = [_Member(start_writer(home)) for _ in range(count)]
        # Only now: while members are made, this process should have no threads but those it came with.
        for member in self._members:
            member.begin(target)
        self._idle: queue.SimpleQueue[_Member] = queue.SimpleQueue()
        for _ in range(_AT_ONCE):
            for member in self._members:
                self._idle.put(member)

    def carry_out(self, url: str, order: Order) -> int:
        """Wait until the order is carried out, or raise what stood in its way. Called from several threads.

        `url` is where its pack lies. Returns for how many of its blobs that is done: all, unless the URL does not work
        (any more).
        """
        member = self._idle.get()
        try:
            return member.ask(url, order).result()
        finally:
            self._idle.put(member)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.end()
        self._stack.close()


class _Member:
    def __init__(self, process: Worker) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[int]] = {}
        self._asked = 0
        self._is_gone = False
        self._process = process
        self._listener = threading.Thread(target=self._listen, name="crew-listen", daemon=True)

    def begin(self, target: Target) -> None:
        self._tell((os.fsencode(Path(os.fsdecode(target.root)).absolute()), target.read_only, target.exact_modes))
        self._listener.start()

    def ask(self, url: str, order: Order) -> Future[int]:
        done: Future[int] = Future()
        with self._lock:
            if self._is_gone:
                done.set_exception(_gone())
                return done
            self._asked += 1
            self._waiting[self._asked] = done
            self._tell((self._asked, url, order))
        return done

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
            number, written, code, text, hint = answer
            with self._lock:
                done = self._waiting.pop(number)
            if code:
                done.set_exception(by_code(code)(text, hint=hint))
            else:
                done.set_result(written)
        with self._lock:
            self._is_gone = True
        for done in self._waiting.values():
            done.set_exception(_gone())


def _gone() -> VolumeProblem:
    return VolumeProblem(
        "A process that was writing files ended before its work was done.",
        hint="The machine may be short of memory. Try again.",
    )


def processes_for(files: int) -> int:
    """Starting the processes takes as long as writing some thousand files."""
    return PROCESSES if files >= _LEAST_FILES and PROCESSES > 1 and sys.executable else 0


def orders_at_once(processes: int) -> int:
    return _AT_ONCE * processes
