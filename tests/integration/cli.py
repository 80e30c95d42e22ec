"""The command line against a real server, called in this process: what a person sees, without a second start each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from millpond.cli.main import main
from millpond.testing.up import MillUp, environment


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Mill:
    """`mill("data", "list")` in the folder `cwd`, as the local administrator."""

    server: MillUp
    capture: pytest.CaptureFixture[str]
    cwd: Path

    def __call__(self, *arguments: str, cwd: Path | None = None, **more: str) -> Done:
        self.capture.readouterr()
        with _at(cwd or self.cwd), patch.dict(os.environ, environment(self.server.home) | more, clear=True):
            code = main(arguments)
        out, err = self.capture.readouterr()
        return Done(code, out, err)

    def ok(self, *arguments: str, cwd: Path | None = None, **more: str) -> Done:
        done = self(*arguments, cwd=cwd, **more)
        assert done.code == 0, f"mill {' '.join(arguments)}: {done.err}"
        return done


@contextmanager
def _at(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
