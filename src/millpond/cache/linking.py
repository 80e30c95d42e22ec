"""Names for files that are there already, given by processes: a link is so short that Python's lock is most of it."""

from __future__ import annotations

import queue
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import BinaryIO, cast

from millpond.cache import link_process
from millpond.cache.link_process import Links, receive, send
from millpond.errors import VolumeProblem


class Linkers:
    """Links files of the open `directories` below the open directory `target`. Close it to end its processes."""

    def __init__(self, directories: Sequence[int], target: int, count: int, *, compared: int, mtime: int) -> None:
        """`compared` are the bits of a mode that must be those that a link names; `mtime` is that of every file."""
        self._processes = [
            subprocess.Popen(
                # Nothing of the environment or of installed packages: the program needs neither.
                [sys.executable, "-I", "-S", link_process.__file__, *map(str, (target, compared, mtime))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[target, *directories],
            )
            for _ in range(count)
        ]
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        for process in self._processes:
            self._idle.put(process)

    def link(self, links: Links) -> list[int]:
        """The numbers of those that could not be linked. Called from several threads.

        VolumeProblem if the process ended before it answered: what it has linked by then is not known.
        """
        process = self._idle.get()
        asked, answers = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
        try:
            send(asked, links)
            left: list[int] = receive(answers)
        except (OSError, EOFError) as error:
            raise VolumeProblem(
                "A process that was linking files ended before its work was done.",
                hint="The machine may be short of memory. Try again.",
            ) from error
        finally:
            self._idle.put(process)
        return left

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            with suppress(BrokenPipeError):
                cast(BinaryIO, process.stdin).close()
            cast(BinaryIO, process.stdout).close()
