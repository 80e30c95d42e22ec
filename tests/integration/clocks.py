"""Processes whose time of day is not that of the test."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def clock_library(directory: Path) -> Path:
    """What sets the clock of processes that load it first; skips where nothing can compile it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    library = directory / "set_clock.so"
    source = Path(__file__).with_name("set_clock.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


@contextmanager
def clocks_set(library: Path, seconds: int) -> Iterator[None]:
    """What is started meanwhile has another time of day."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(library))
        patch.setenv("CLOCK_SET", str(seconds))
        yield
