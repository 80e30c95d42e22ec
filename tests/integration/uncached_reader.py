"""Reads a file that it has open again and again, past the page cache, and prints bytes per second for each part.

Until there is a file `enough` beside it. As a program: `uncached_reader.py FILE`.
"""

from __future__ import annotations

import mmap
import os
import sys
import time

PART = 4 << 20


def main(path: str) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size, at = os.fstat(opened).st_size, 0
    with mmap.mmap(-1, PART) as room:  # O_DIRECT reads to whole pages
        while not os.path.exists("enough"):  # noqa: PTH110
            started = time.monotonic()
            read = os.preadv(opened, [room], at)
            print(read / (time.monotonic() - started), flush=True)
            at = at + PART if at + 2 * PART <= size else 0


if __name__ == "__main__":
    main(sys.argv[1])
