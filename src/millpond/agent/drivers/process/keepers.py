"""Starting keepers: asked of a nursery, a process of the agent made with the first one, and again when it is gone."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import weakref
from pathlib import Path

from millpond.agent import nursery

_NURSERY = str(Path(nursery.__file__))


class Keepers:
    """May be asked from several threads at once. The nursery ends with this object, the keepers do not."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._line: _Line | None = None

    def start(self, directory: Path) -> None:
        """Have a keeper started for this placement; that it began is seen by its claim. OSError: none can be.

        One that is asked of a nursery at the moment of its end may never come: whoever waits for the claim asks again.
        """
        request = os.fsencode(directory.absolute()) + b"\0"
        with self._asking:
            if self._line is not None:
                with contextlib.suppress(BrokenPipeError):
                    self._line.write(request)
                    return
                self._line.end()
            self._line = _Line()
            self._line.write(request)


class _Line:
    """The way to one nursery."""

    def __init__(self) -> None:
        reader, self._writer = os.pipe()
        try:
            self._pid = _spawn(reader)
        except BaseException:
            os.close(self._writer)
            raise
        finally:
            os.close(reader)
        self.end = weakref.finalize(self, _end, self._writer, self._pid)

    def write(self, request: bytes) -> None:
        """All of it at once: it is shorter than what a pipe takes undivided."""
        os.write(self._writer, request)


def _spawn(requests: int) -> int:
    """In a session of its own, so that no signal meant for the agent reaches it."""
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", _NURSERY],
        {},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, requests, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=(signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD),
    )


def _end(writer: int, pid: int) -> None:
    """Without its input the nursery ends at once; it is waited for, so that it does not stay a zombie."""
    os.close(writer)
    os.waitpid(pid, 0)
