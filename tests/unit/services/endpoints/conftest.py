from __future__ import annotations

import pytest

from millpond.model.model import FromRun, NewModelVersion
from millpond.model.run import NewRun
from millpond.services.models import registration
from millpond.services.runs import artifacts, runs
from tests.unit.services.world import World


@pytest.fixture
def model(world: World) -> str:
    """A model with three versions."""
    run = runs.create(world.deps, world.maria, world.project, NewRun(name="train")).run.id
    artifacts.put(world.deps, world.maria, world.project, run, "model/1/model.onnx", b"onnx")
    for number in (1, 2, 3):
        artifacts.put(world.deps, world.maria, world.project, run, "model/note", str(number).encode())
        asked = NewModelVersion("chest", FromRun(run, "model"), aliases=["candidate"] if number == 2 else [])
        registration.register(world.deps, world.maria, world.project, asked)
    return "chest"
