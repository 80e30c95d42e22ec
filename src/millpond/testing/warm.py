"""`mill` for tests as processes that begin with everything loaded: copies of one that has loaded it (warm_process.py).

Becoming a server takes two to three seconds of a processor, all but a few tenths of them for loading modules, and tests
start hundreds. Only who asks for it (`warm_starts`) gets copies: benchmarks and measures start programs.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

# Variables that matter before a program's first line: a copy would not obey others than those it began with.
_EARLY = ("LD_", "PYTHON")
_MOST_BYTES = 1 << 20


class Program(Protocol):
    """What tests need of a process that they started."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


class Copy:
    """A copy that runs. As with subprocess.Popen, its status is that of its exit, or minus the signal that ended it."""

    def __init__(self, told: socket.socket) -> None:
        self.returncode: int | None = None
        self._told = told
        self._pid = int(told.recv(_MOST_BYTES))

    @property
    def pid(self) -> int:
        return self._pid

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._told.settimeout(timeout)
            try:
                self.returncode = int(self._told.recv(_MOST_BYTES))
            except (TimeoutError, BlockingIOError) as error:
                raise subprocess.TimeoutExpired(["mill"], timeout or 0) from error
            self._told.close()
        return self.returncode

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self._pid, sig)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Source:
    """The process that copies are made of. It is started for the first of them."""

    def __init__(self) -> None:
        self._env = dict(os.environ)
        self._asked: socket.socket | None = None

    def start(self, arguments: Sequence[str], env: Mapping[str, str], output: BinaryIO) -> Copy:
        asked = self._asked = self._asked or self._begin()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        wanted = {"arguments": list(arguments), "env": dict(env), "cwd": str(Path.cwd())}
        with theirs:
            socket.send_fds(asked, [json.dumps(wanted).encode()], [theirs.fileno(), output.fileno()])
        return Copy(ours)

    def can_obey(self, env: Mapping[str, str]) -> bool:
        return _early(env) == _early(self._env)

    def close(self) -> None:
        if self._asked is not None:
            self._asked.close()
            self._process.wait()

    def _begin(self) -> socket.socket:
        asked, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", "millpond.testing.warm_process", str(theirs.fileno())]
            self._process = subprocess.Popen(
                command, env=self._env, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )
        return asked


_source: Source | None = None


@contextmanager
def warm_starts() -> Iterator[None]:
    """Within, `start` makes copies, where the kernel can pass what they need."""
    global _source
    _source = Source() if sys.platform == "linux" else None
    try:
        yield
    finally:
        if _source is not None:
            _source.close()
        _source = None


def start(arguments: Sequence[str], *, env: Mapping[str, str], output: BinaryIO, cold: bool = False) -> Program:
    """`mill ARGUMENTS` with just these variables; what it prints goes to the file. `cold` is a program of its own."""
    if _source is not None and not cold and _source.can_obey(env):
        return _source.start(arguments, env, output)
    return subprocess.Popen([sys.executable, "-m", "millpond", *arguments], stdout=output, stderr=output, env=env)


def _early(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_EARLY)}
