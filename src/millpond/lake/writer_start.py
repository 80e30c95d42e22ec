"""Starting a process of a crew: as a copy of this one where that is safe, which has loaded all it needs already.

A new interpreter takes as long to begin as writing some thousand files (docs/design/008).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from millpond.lake.writer_process import serve

# One entry for each thread, whoever made it.
_THREADS = Path("/proc/self/task")


@dataclass(frozen=True, slots=True)
class WriterProcess:
    """It reads orders from one pipe and answers on the other. `end` ends it whatever it is doing, and returns then."""

    orders: BinaryIO
    answers: BinaryIO
    end: Callable[[], None]


def start() -> WriterProcess:
    return _copied() if _is_alone() else _spawned()


def _is_alone() -> bool:
    """Whether this thread is the only one: of others a copy has nothing but the locks that they held."""
    return _THREADS.is_dir() and len(os.listdir(_THREADS)) == 1


def _copied() -> WriterProcess:
    theirs, orders = os.pipe()
    answers, mine = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(orders)
            os.close(answers)
            serve(os.fdopen(theirs, "rb"), os.fdopen(mine, "wb"))
        finally:
            os._exit(1)  # whatever happens: nothing here may go on with what the command was doing
    os.close(theirs)
    os.close(mine)

    def end() -> None:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)

    return WriterProcess(os.fdopen(orders, "wb"), os.fdopen(answers, "rb"), end)


def _spawned() -> WriterProcess:
    process = subprocess.Popen(
        # -P: nothing of the directory that somebody stands in is ever imported.
        [sys.executable, "-P", "-m", "millpond.lake.writer_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )

    def end() -> None:
        process.kill()
        process.wait()

    return WriterProcess(cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout), end)
