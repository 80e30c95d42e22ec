"""The server is killed while versions of a model are registered: no number without a version, and none given twice."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from millpond.client.datasets import create_dataset
from millpond.client.edits import put_files
from millpond.client.http import Api
from millpond.client.models import get_version, list_versions, model_path
from millpond.errors import MillError, NotFound
from millpond.testing.waiting import wait_until
from millpond.wire.models import ModelSource, ModelVersion, ModelVersionCreate
from tests.integration.dying_server import DyingServer, dying_server

MODEL, WEIGHTS = "chest", b"weights" * 100


class Registry:
    """One data directory, whatever server lives on it, and the versions that are known to be there."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._root, self._stack = root, stack
        self.known: list[tuple[int, str]] = []
        self.start()
        create_dataset(self.api, "default", "trained")
        put_files(self.api, "default", "trained", {"model/weights.bin": io.BytesIO(WEIGHTS)})

    def start(self) -> None:
        self.server: DyingServer = self._stack.enter_context(dying_server(self._root / "data"))
        self.api = self._stack.enter_context(Api(self.server.url, self.server.token, patience=0.0))

    def register(self, alias: str = "newest") -> ModelVersion:
        body = ModelVersionCreate(source=ModelSource(commit="trained@main:model"), aliases=[alias])
        return self.api.send("POST", f"{model_path('default', MODEL)}/versions", ModelVersion, body)

    def steps_of(self, act: Callable[[], object]) -> list[str]:
        self.server.die_at(None)
        act()
        return self.server.die_at(None)

    def killed_at(self, step: str, act: Callable[[], object]) -> None:
        self.server.die_at(step)
        with suppress(MillError):
            act()
        wait_until(self.server.is_dead, what=f"the end of the server at {step!r}")
        self.start()

    def check(self, most_new: int) -> None:
        """Numbers without a gap, the versions of before as they were, every one with its files; the alias is at one."""
        found = [(one.version, one.commit) for one in list_versions(self.api, "default", MODEL)][::-1]
        assert [number for number, _ in found] == list(range(1, len(found) + 1)), "no gap, none twice"
        assert found[: len(self.known)] == self.known, "none lost, none changed"
        assert len(found) <= len(self.known) + most_new
        assert len({commit for _, commit in found}) == len(found)
        self.known = found
        for number, _ in found[-most_new:]:
            path = f"/projects/default/datasets/.models.{MODEL}/commits/{number}/file"
            assert self.api.request("GET", path, params={"path": "weights.bin"}).content == WEIGHTS
        with suppress(NotFound):
            assert get_version(self.api, "default", MODEL, "newest").version <= len(found)


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with ExitStack() as stack:
        yield Registry(tmp_path, stack)


@pytest.mark.parametrize("stride", [5, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.timeout(600)
def test_at_every_step_of_a_registration(registry: Registry, stride: int) -> None:
    registry.register()
    registry.check(1)
    steps = registry.steps_of(registry.register)
    registry.check(1)
    assert "before writing to commits" in steps and "after writing to datasets" in steps
    chosen = steps[random.randrange(stride) :: stride]
    print(*chosen, sep="\n")
    for step in chosen:
        registry.killed_at(step, registry.register)
        registry.check(1)
        assert registry.register().version == len(registry.known) + 1, "the number behind the last"
        registry.check(1)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_storm_of_registrations(registry: Registry) -> None:
    """Many register at once while the server dies at any of their steps."""
    steps = registry.steps_of(registry.register)
    registry.check(1)
    for kills in range(25):
        registry.server.die_at(random.choice(steps) + random.choice(["", ", time 2", ", time 5"]))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda number: _try(registry, f"a{number}"), range(12)))
        registry.server.kill()
        registry.start()
        registry.check(12)
        assert len(registry.known) > kills, "it goes on"


def _try(registry: Registry, alias: str) -> None:
    with suppress(MillError):
        registry.register(alias)
