"""Starting processes of a crew: as copies of this one where that is safe, which has loaded all they need already."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from millpond.lake import writer_process
from millpond.lake.nursery import Nursery
from millpond.lake.worker import Worker

# One entry for each thread, whoever made it.
_THREADS = Path("/proc/self/task")


def start_writer(nursery: Nursery) -> Worker:
    """A copy of this process, or else of the nursery's."""
    return _copied() if _is_alone() else nursery.start(writer_process.__name__)


def _is_alone() -> bool:
    """Whether this thread is the only one: of others a copy has nothing but the locks that they held."""
    return _THREADS.is_dir() and len(os.listdir(_THREADS)) == 1


def _copied() -> Worker:
    theirs, orders = os.pipe()
    answers, mine = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.close(orders)
            os.close(answers)
            writer_process.serve(os.fdopen(theirs, "rb"), os.fdopen(mine, "wb"))
        finally:
            os._exit(1)  # whatever happens: nothing here may go on with what the command was doing
    os.close(theirs)
    os.close(mine)

    def kill() -> None:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)

    return Worker(os.fdopen(orders, "wb"), os.fdopen(answers, "rb"), kill)
