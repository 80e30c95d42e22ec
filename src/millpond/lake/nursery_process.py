"""The process of a nursery: it copies itself for every worker that it is asked for, and kills those it is told to.

It has no threads, and ends with its input; its workers end with theirs.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import socket
import struct
import sys
from collections.abc import Sequence

# What is asked for, the number that stands for the worker from then on, and its program.
_REQUEST = struct.Struct("<cQ119s")
START, KILL = b"s", b"k"
# More than the commits that one fill takes files from.
_DESCRIPTORS_MOST = 64
# How long one that has ended stays in the table of processes.
_SWEEP_SECONDS = 0.05


def request(what: bytes, number: int, program: str = "") -> bytes:
    return _REQUEST.pack(what, number, program.encode())


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    importlib.import_module("millpond.lake.writer_process")  # what is asked for most, and takes longest
    with socket.socket(fileno=os.dup(0)) as line:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _serve(line)


def _serve(line: socket.socket) -> None:
    workers: dict[int, int] = {}
    while True:
        _sweep(workers)
        line.settimeout(_SWEEP_SECONDS if workers else None)
        try:
            message, descriptors, _, _ = socket.recv_fds(line, _REQUEST.size, _DESCRIPTORS_MOST)
        except TimeoutError:
            continue
        if len(message) < _REQUEST.size:
            return
        what, number, program = _REQUEST.unpack(message)
        if what == START:
            workers[number] = _copy(program.rstrip(b"\0").decode(), line, descriptors)
        elif number in workers:
            os.kill(workers[number], signal.SIGKILL)  # it was not waited for, so its number is nobody else's


def _copy(program: str, line: socket.socket, descriptors: Sequence[int]) -> int:
    module = importlib.import_module(program)
    gc.freeze()  # or collecting garbage would copy what all of them share
    process = os.fork()
    if process == 0:
        try:
            line.close()  # as long as a worker had it open, nobody would see that this process is gone
            orders, answers, *others = descriptors
            module.serve(os.fdopen(orders, "rb"), os.fdopen(answers, "wb"), *others)
        except BaseException:  # noqa: BLE001 - whatever it is, this copy must end here
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)
    for descriptor in descriptors:
        os.close(descriptor)
    return process


def _sweep(workers: dict[int, int]) -> None:
    """Forget those that have ended."""
    for number, process in list(workers.items()):
        if os.waitpid(process, os.WNOHANG)[0]:
            del workers[number]


if __name__ == "__main__":
    main()
