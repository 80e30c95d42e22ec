"""The process that warm starts are copies of (warm.py): `python -m millpond.testing.warm_process DESCRIPTOR`.

Between it and each copy stands the copy's parent, which tells its number and then how it ended. The kernel takes away
such parents, and the copy is a child of one process alone, as a program that was started would be.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
from typing import Any

from millpond.cli import main

# What else a server has loaded once it is ready.
_LOADED = (
    "millpond.cli.up",
    "alembic.command",
    "uvicorn.lifespan.off",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
)
_MOST_BYTES = 1 << 20


def serve(asked: socket.socket) -> None:
    """Make copies until nobody can ask any more. Each copy returns from here, ready to become the program."""
    # Ctrl-C in a terminal reaches everybody in it: whoever asked for a copy ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, given, _, _ = socket.recv_fds(asked, _MOST_BYTES, 2)
        if not message:
            os._exit(0)
        if os.fork() == 0:
            break
        for one in given:
            os.close(one)
    asked.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    told = socket.socket(fileno=given[0])
    if child := os.fork():
        watch(child, told)
    told.close()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    become(json.loads(message), given[1])


def watch(child: int, told: socket.socket) -> None:
    """Never returns: tell the copy's number, and in the end its status."""
    told.send(str(child).encode())
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(BrokenPipeError):  # nobody wants to know
        told.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def become(wanted: dict[str, Any], output: int) -> None:
    """The surroundings that the program would have been started with."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.clear()
    os.environ.update(wanted["env"])
    os.chdir(wanted["cwd"])
    sys.argv = ["mill", *wanted["arguments"]]


if __name__ == "__main__":
    gc.disable()
    for name in _LOADED:
        importlib.import_module(name)
    gc.freeze()  # or collecting garbage would copy what all of them share
    serve(socket.socket(fileno=int(sys.argv[1])))
    # As in millpond.__main__.
    sys.exit(main.main())
