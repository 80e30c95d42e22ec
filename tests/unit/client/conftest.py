from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.client.fake_server import FakeServer, running_server


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with running_server() as found:
        yield found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty MILL_HOME, and no settings from outside."""
    for name in ("MILL_SERVER", "MILL_TOKEN", "MILL_PROJECT", "MILL_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "home"
    monkeypatch.setenv("MILL_HOME", str(folder))
    return folder
