"""Makes files from memory, a process for each core: what the file system alone takes, whoever fills it.

`python make_files.py SIZES TARGET PER_FOLDER`, with a size on each line of the file SIZES.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def main() -> None:
    sizes = list(map(int, Path(sys.argv[1]).read_text().split()))
    cores = os.cpu_count() or 1
    children = [_child(sizes, number, cores) for number in range(cores)]
    for child in children:
        os.waitpid(child, 0)


def _child(sizes: list[int], number: int, cores: int) -> int:
    child = os.fork()
    if child == 0:
        _make(sizes, Path(sys.argv[2]), int(sys.argv[3]), number, cores)
        os._exit(0)
    return child


def _make(sizes: list[int], target: Path, per_folder: int, number: int, cores: int) -> None:
    """Every so many folders."""
    content = memoryview(os.urandom(max(sizes)))
    for start in range(number * per_folder, len(sizes), cores * per_folder):
        folder = target / str(start)
        folder.mkdir()
        for name, size in enumerate(sizes[start : start + per_folder]):
            file = os.open(f"{folder}/{name}", _CREATE, 0o644)
            os.write(file, content[:size])
            os.close(file)


if __name__ == "__main__":
    main()
