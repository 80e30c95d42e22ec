"""Servers whose clock is set, and whose names of hosts are lost, while they run."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Surroundings:
    """Of all processes that were started inside `started_in`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._ahead, self._is_nameless = 0, False
        self._write()

    def set_clock(self, ahead: int) -> None:
        """Seconds ahead of everybody else's."""
        self._ahead = ahead
        self._write()

    def lose_names(self, is_lost: bool) -> None:
        self._is_nameless = is_lost
        self._write()

    def _write(self) -> None:
        # In place: the processes have the file mapped.
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("=qq", self._ahead, self._is_nameless))


@contextmanager
def started_in(directory: Path, name: str = "surroundings") -> Iterator[Surroundings]:
    """What is started meanwhile has surroundings that can be changed; skips where nothing can compile them."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library, file = directory / f"{name}.so", directory / name
    source = Path(__file__).with_name("surroundings.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    made = Surroundings(file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        patch.setenv("SURROUNDINGS", str(file))
        yield made
