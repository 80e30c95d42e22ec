"""Services on SQLite, a lake in memory, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.db import actors, projects, users
from millpond.model.people import Role
from millpond.services.deps import Deps
from millpond.settings import Settings
from millpond.testing.builders_work import add_agent, add_volume
from millpond.testing.clock import FakeClock
from millpond.testing.events import FakeEvents
from millpond.testing.server import add_user, making_deps
from tests.unit.services.world import World


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


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    clock, events = FakeClock(), FakeEvents()
    with making_deps(Settings(data_dir=tmp_path), clock=clock, events=events) as deps:
        add_user(deps, "maria", roles={"default": Role.MEMBER})
        with deps.db.read() as tx:
            project, user = projects.find(tx, "default"), users.find(tx, "maria")
            assert project is not None and user is not None
            maria = actors.of_user(tx, user)
        yield World(deps, clock, events, project, maria, add_agent(deps.db), add_volume(deps.db))
