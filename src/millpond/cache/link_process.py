"""A process that gives files another name, thousands at a time. It knows the standard library alone, to start quickly.

Directories come as open descriptors, so it works where the one who started it does, whatever they are called by then.
It ends with its input. What it does not link, for whatever reason, is left to the one who asked.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys

# Open directory and path below it, path of the new name, and what the file must be: size, mtime, and type with mode.
Link = tuple[int, bytes, bytes, int, int, int]


def link_all(links: list[Link], target: int, compared: int) -> list[int]:
    """Give each file its new name below the open directory `target`; the numbers of those that it could not."""
    left: list[int] = []
    stat, link = os.stat, os.link
    for number, (directory, existing, path, size, mtime, mode) in enumerate(links):
        try:
            found = stat(existing, dir_fd=directory, follow_symlinks=False)
            if found.st_size == size and found.st_mtime_ns == mtime and found.st_mode & compared == mode:
                link(existing, path, src_dir_fd=directory, dst_dir_fd=target, follow_symlinks=False)
                continue
        except OSError:
            pass  # whoever asked meets it again, and knows what to say
        left.append(number)
    return left


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    target, compared = int(sys.argv[1]), int(sys.argv[2])
    while True:
        try:
            links = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(link_all(links, target, compared), sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
