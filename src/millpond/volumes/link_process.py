"""A process that gives files another name, thousands at a time.

Directories come as open descriptors, so it works where the one who started it does, whatever they are called by then.
It ends with its input. What it does not link, for whatever reason, is left to the one who asked.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
from typing import Any, BinaryIO

# Files below an open directory, in columns: their paths, the paths of their new names, and what each must be: its size,
# and type with permissions.
Links = tuple[int, list[bytes], list[bytes], list[int], list[int]]

_LENGTH_BYTES = 4


def send(pipe: BinaryIO, message: tuple[Any, ...] | list[int]) -> None:
    """Both ends are the same interpreter, so its own format will do, and is the quickest."""
    data = marshal.dumps(message)
    pipe.write(len(data).to_bytes(_LENGTH_BYTES, "little") + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> Any:
    """The next message; EOFError at the end, also in the middle of one."""
    data = pipe.read(int.from_bytes(pipe.read(_LENGTH_BYTES), "little"))
    return marshal.loads(data)


def serve(orders: BinaryIO, answers: BinaryIO, target: int, *directories: int) -> None:
    """Link files of the open `directories` below the open directory `target`, until there are no more orders.

    They are `Links` that name a directory by its number among those given.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()
    try:
        compared, mtime = receive(orders)
        while True:
            number, *columns = receive(orders)
            send(answers, link_all((directories[number], *columns), target, compared, mtime))
    except EOFError:
        return


def link_all(links: Links, target: int, compared: int, mtime: int) -> list[int]:
    """Give each file of an open directory its new name below `target`; the numbers of those that it could not.

    Whatever was written to has another time than `mtime`.
    """
    left: list[int] = []
    stat, link = os.stat, os.link
    directory, sources, paths, sizes, modes = links
    for number, (existing, path, size, mode) in enumerate(zip(sources, paths, sizes, modes, strict=True)):
        try:
            found = stat(existing, dir_fd=directory, follow_symlinks=False)
            if found.st_size == size and found.st_mtime_ns == mtime and found.st_mode & compared == mode:
                link(existing, path, src_dir_fd=directory, dst_dir_fd=target, follow_symlinks=False)
                continue
        except OSError:
            pass  # whoever asked meets it again, and knows what to say
        left.append(number)
    return left
