"""One `mill up` with its agent for all tests that only need some such server, and not one of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from millpond.testing.up import MillUp, mill_up

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that share the server come last: it ends with them, and takes no time from the others."""
    places = [place for place, item in enumerate(items) if item.path.parent == HERE]
    own = sorted((items[place] for place in places), key=lambda item: "shared_up" in getattr(item, "fixturenames", ()))
    for place, item in zip(places, own, strict=True):
        items[place] = item


@pytest.fixture(scope="package")
def shared_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MillUp]:
    """What is in it is everybody's: a test takes names of its own, and counts only what it made."""
    with mill_up(tmp_path_factory.mktemp("shared") / "data") as running:
        yield running
