"""An upload and a collection step by step, in every order: a commit that is accepted can be read, whatever happened.

The upload sends what an earlier, purged dataset held, so it builds on exactly what the collection removes.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import combinations, cycle
from typing import Any

import pytest

from millpond.errors import Incomplete
from millpond.lake.keys import ProjectKeys
from millpond.services.commits.checks import tree as tree_check
from millpond.services.datasets import datasets
from millpond.services.deps import Deps
from millpond.services.lake import collect, purge
from millpond.testing.builders_data import a_commit, a_dataset, the_admin, the_project
from millpond.testing.clock import FakeClock
from tests.unit.services.lake.collect_steps import DAYS, REFUSED, Uploading, collecting, drive
from tests.unit.services.lake.reading_all import read_all

FILES = {"a": b"alpha", "b/c": b"beta"}
# Where the steps of the collection fall among those of both: 5 of 11.
EVERY_ORDER = list(combinations(range(11), 5))
WHOLE_COLLECTION_AT_ONE_POINT = [tuple(range(start, start + 5)) for start in range(7)]
WHOLE_UPLOAD_AT_ONE_POINT = [tuple({*range(11)} - {*range(start, start + 6)}) for start in range(1, 5)]
BETWEEN = pytest.mark.parametrize("days", [0.0, DAYS], ids=["quickly", "days between steps"])


@pytest.mark.parametrize(
    ("order", "days"),
    [*zip(WHOLE_COLLECTION_AT_ONE_POINT + WHOLE_UPLOAD_AT_ONE_POINT, cycle([0.0, DAYS]), strict=False)],
    ids=str,
)
def test_one_of_them_at_every_point_of_the_other(
    deps: Deps, clock: FakeClock, order: tuple[int, ...], days: float
) -> None:
    check_order(deps, clock, order, days)


@pytest.mark.long
@BETWEEN
@pytest.mark.parametrize("order", EVERY_ORDER, ids=str)
def test_every_order_of_steps(deps: Deps, clock: FakeClock, order: tuple[int, ...], days: float) -> None:
    check_order(deps, clock, order, days)


def check_order(deps: Deps, clock: FakeClock, order: tuple[int, ...], days: float) -> None:
    make_garbage(deps)
    client = Uploading(deps, the_admin(deps), FILES)
    sides = {False: client.steps(), True: collecting(deps)}
    for number in range(11):
        clock.advance(days)
        with suppress(*REFUSED):
            drive(sides[number in order])
    for left in sides.values():
        with suppress(*REFUSED):
            while drive(left):
                clock.advance(days)
    if client.commit is None:  # refused: it sends again, and nobody is in its way now
        for _ in client.steps():
            pass
    assert client.commit is not None
    assert read_all(deps, a_dataset(deps, "new"), client.commit) == FILES
    clock.advance(DAYS)
    collect.collect(deps, the_admin(deps), now=True)
    assert read_all(deps, a_dataset(deps, "new"), client.commit) == FILES
    check_that_nothing_is_kept_for_ever(deps, clock)


def make_garbage(deps: Deps) -> None:
    """FILES in the lake, with nothing that names them."""
    a_commit(deps, FILES, dataset="old")
    remove(deps, "old")


def remove(deps: Deps, name: str) -> None:
    dataset = a_dataset(deps, name)
    datasets.delete(deps, the_admin(deps), dataset)
    assert purge.purge_dataset(deps, the_admin(deps), dataset, deps.clock.now())


def check_that_nothing_is_kept_for_ever(deps: Deps, clock: FakeClock) -> None:
    remove(deps, "new")
    for _ in range(2):
        clock.advance(DAYS)
        collect.collect(deps, the_admin(deps), now=True)
    left = [info.key for info in deps.store.list(ProjectKeys(the_project(deps).id).prefix)]
    # A locator may be written by somebody whose commit is then refused. It goes when its page comes and goes again.
    assert [key for key in left if "/locators/" not in key] == []


@pytest.mark.parametrize("step", ["announce_locators", "write_locator"])
def test_a_collection_between_finding_blobs_and_writing_where_they_lie(
    deps: Deps, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    make_garbage(deps)
    real = getattr(tree_check, step)

    def after_a_collection(*arguments: Any) -> Any:
        clock.advance(DAYS)
        list(collecting(deps))
        return real(*arguments)

    elsewhere = {f"elsewhere/{path}": content for path, content in FILES.items()}  # a new page of old blobs
    client = Uploading(deps, the_admin(deps), elsewhere)
    with monkeypatch.context() as patched:
        patched.setattr(tree_check, step, after_a_collection)
        with pytest.raises(Incomplete) as refused:
            list(client.steps())
    assert refused.value.details["pages"]
    list(client.steps())
    assert client.commit is not None
    assert read_all(deps, a_dataset(deps, "new"), client.commit) == elsewhere
