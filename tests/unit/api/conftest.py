"""A whole server for each test of the API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer, running_server


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def server(tmp_path: Path, clock: FakeClock) -> Iterator[RunningServer]:
    with running_server(tmp_path, clock=clock) as running:
        yield running
