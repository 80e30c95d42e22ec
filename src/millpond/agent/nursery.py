"""The nursery: a process that starts keepers by forking itself, with everything they need already loaded.

A keeper that is a program of its own spends forty milliseconds of processor time on becoming one; a fork two. Started
as `python -I -S nursery.py`, it reads directories of placements from its input, each ended by a zero byte, and ends
with that input, which is when the agent does. Keepers are in sessions of their own and outlive both.
"""

# As in the keeper, no pathlib.
# ruff: noqa: PTH100, PTH118, PTH120

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

MOST = 1 << 16


def serve(keeper: ModuleType) -> None:
    # The kernel then takes away keepers that have ended; each of them sets this right for its own children.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.freeze()  # or collecting garbage would copy what all of them share
    rest = b""
    while piece := os.read(0, MOST):
        *directories, rest = (rest + piece).split(b"\0")
        for directory in directories:
            start(keeper, os.fsdecode(directory))


def start(keeper: ModuleType, directory: str) -> None:
    """Fork a keeper for this placement. Failures are written to its `keeper.log`."""
    try:
        output = os.open(os.path.join(directory, "keeper.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except FileNotFoundError:
        return  # forgotten meanwhile
    try:
        if os.fork() == 0:
            become_keeper(keeper, directory, output)
    except OSError as error:
        os.write(output, f"cannot start the keeper: {error.strerror}\n".encode())
    finally:
        os.close(output)


def become_keeper(keeper: ModuleType, directory: str, output: int) -> None:
    """Never returns: this copy of the process is the keeper."""
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        keeper.kernel.prctl(keeper.kernel.PR_SET_NAME, b"mill-keeper")
        keeper.keeper.keep(directory)
    except BaseException:  # noqa: BLE001 - whatever it is, this copy must end here
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    # Alone (-I), a program does not see the files beside it.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    importlib.import_module("keeper.confine")
    importlib.import_module("keeper.keeper")
    serve(importlib.import_module("keeper"))
