from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from millpond.cli.main import main
from millpond.client.credentials import save_token
from tests.unit.client.fake_server import FakeServer, running_server


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Mill = Callable[..., Done]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with running_server() as found:
        yield found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("MILL_SERVER", "MILL_TOKEN", "MILL_PROJECT", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MILL_HOME", str(tmp_path / "home"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return tmp_path / "home"


@pytest.fixture
def mill(server: FakeServer, home: Path, capfd: pytest.CaptureFixture[str]) -> Mill:
    """Runs one command, signed in to the fake server."""
    save_token(home, server.url, "mill_token")

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        code = main(arguments)
        out, err = capfd.readouterr()
        return Done(code, out, err)

    return run
