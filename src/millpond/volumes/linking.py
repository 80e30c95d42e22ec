"""Names for files that are there already, given by processes: a link is so short that Python's lock is most of it."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from contextlib import suppress

from millpond.errors import VolumeProblem
from millpond.lake.nursery import Nursery
from millpond.lake.worker import Worker
from millpond.volumes import link_process
from millpond.volumes.link_process import Links, receive, send


class Linkers:
    """Links files of the open `directories` below the open directory `target`. Close it to end its processes."""

    def __init__(
        self, nursery: Nursery, directories: Sequence[int], target: int, count: int, *, compared: int, mtime: int
    ) -> None:
        """`compared` are the bits of a mode that must be those that a link names; `mtime` is that of every file."""
        self._processes = [nursery.start(link_process.__name__, [target, *directories]) for _ in range(count)]
        self._numbers = {directory: number for number, directory in enumerate(directories)}
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for process in self._processes:
            with suppress(BrokenPipeError):  # it has ended already, which is told to the first one who asks
                send(process.orders, (compared, mtime))
            self._idle.put(process)

    def link(self, links: Links) -> list[int]:
        """The numbers of those that could not be linked. Called from several threads.

        VolumeProblem if the process ended before it answered: what it has linked by then is not known.
        """
        directory, *columns = links
        process = self._idle.get()
        try:
            send(process.orders, (self._numbers[directory], *columns))
            left: list[int] = receive(process.answers)
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
        for process in self._processes:
            with suppress(BrokenPipeError):
                process.orders.close()
            while process.answers.read(1 << 16):
                pass  # until it has ended
            process.answers.close()
