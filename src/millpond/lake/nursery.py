"""Workers of a process that has threads, which cannot be copied itself: copies of another one that is kept for this.

A new interpreter takes as long to begin as writing some thousand files (docs/design/008); a copy of one that has loaded
what it needs takes two milliseconds.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from millpond.lake import nursery_process
from millpond.lake.nursery_process import KILL, START, request
from millpond.lake.worker import Worker


class Nursery:
    """Has a process with the first worker that it is asked for, until it is closed; workers may outlive that.

    Safe for threads. Whatever becomes of this process, the nursery and its workers end with it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: _Line | None = None
        self._numbers = count(1)

    def start(self, program: str, descriptors: Sequence[int] = ()) -> Worker:
        """A worker that runs `serve` of the module `program` with its pipes and copies of these descriptors.

        Does not wait for it. One that cannot begin ends its answers.
        """
        number = next(self._numbers)
        theirs, orders = os.pipe()
        answers, mine = os.pipe()
        try:
            line = self._tell(request(START, number, program), [theirs, mine, *descriptors])
        except BaseException:
            os.close(orders)
            os.close(answers)
            raise
        finally:
            os.close(theirs)
            os.close(mine)
        return Worker(os.fdopen(orders, "wb"), os.fdopen(answers, "rb"), lambda: line.kill(number))

    def warm(self) -> None:
        """Have the process, so that it is ready by the time it is asked for something."""
        with self._lock:
            if self._line is None:
                self._line = _Line()

    def close(self) -> None:
        with self._lock:
            if self._line is not None:
                self._line.close()
            self._line = None

    def _tell(self, message: bytes, descriptors: Sequence[int]) -> _Line:
        with self._lock:
            if self._line is not None:
                with suppress(BrokenPipeError, ConnectionResetError):
                    self._line.send(message, descriptors)
                    return self._line
                self._line.close()  # somebody has ended it, and with it what it knew of its workers
            self._line = _Line()
            self._line.send(message, descriptors)
            return self._line


class _Line:
    """The way to one process."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                # -P: nothing of the directory that somebody stands in is ever imported.
                [sys.executable, "-P", "-m", nursery_process.__name__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                # What a terminal sends to this process is not meant for it.
                start_new_session=True,
            )

    def send(self, message: bytes, descriptors: Sequence[int]) -> None:
        """All of it at once: it is shorter than what a socket takes undivided."""
        socket.send_fds(self._ours, [message], descriptors)

    def kill(self, number: int) -> None:
        """Where the process is gone, or the line closed, workers end by themselves with their orders."""
        with suppress(OSError):
            self.send(request(KILL, number), [])

    def close(self) -> None:
        self._ours.close()
        self._process.wait()
