"""Services of data on SQLite, a lake in memory, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.services.deps import Deps
from millpond.settings import Settings
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import making_deps


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def events() -> FakeEvents:
    return FakeEvents()


@pytest.fixture
def deps(tmp_path: Path, clock: FakeClock, events: FakeEvents) -> Iterator[Deps]:
    with making_deps(Settings(data_dir=tmp_path), clock=clock, events=events) as made:
        yield made
