"""The command line against a real server, called in this process: what a person sees, without a second start each.

The server is a process of its own where an agent is needed (`mill_up`), and a thread of this one where none is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import pytest

from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.cli.main import main
from millpond.client.credentials import save_token
from millpond.testing.server import ADMIN, SECRET, running_server
from millpond.testing.up import environment


class Server(Protocol):
    """What is running somewhere, and where its command line keeps credentials (MILL_HOME)."""

    url: str
    data_dir: Path
    home: Path


@dataclass
class ServerHere:
    """The same as a `MillUp`, seen from the command line."""

    url: str
    data_dir: Path
    home: Path


@contextmanager
def server_here(root: Path) -> Iterator[ServerHere]:
    """A server in this process, without an agent; its lake is a directory."""
    data_dir, home = root / "data", root / "home"
    store = open_store((data_dir / "lake").as_uri(), LocalSigner(SECRET))
    with running_server(data_dir, store=store) as server:
        save_token(home, server.url, server.token_of(ADMIN))
        yield ServerHere(server.url, data_dir, home)


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

    server: Server
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
