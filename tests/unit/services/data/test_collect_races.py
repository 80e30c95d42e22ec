"""An upload and a collection step by step, in every order: a commit that is accepted can be read, whatever happened.

The upload sends what an earlier, purged dataset held, so it builds on exactly what the collection removes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import pytest

from millpond.decide.collection import Policy
from millpond.errors import Incomplete, Unavailable
from millpond.lake.keys import ProjectKeys
from millpond.lake.pages import pack_page
from millpond.model.dataset import Commit
from millpond.model.people import Actor
from millpond.services import accept, collect, datasets, doomed, purge, uploads
from millpond.services.accept import Proposal
from millpond.services.deps import Deps
from millpond.testing.builders_data import a_commit, a_dataset, a_pack, a_tree, the_admin, the_project
from millpond.testing.clock import FakeClock
from millpond.wire.data import PackWritten
from tests.unit.services.data.reading_all import read_all

FILES = {"a": b"alpha", "b/c": b"beta"}
HURRIED = Policy.hurried()
DAYS = 2 * 86_400.0
# What a client answers by sending again, at once or in a moment.
REFUSED = (Incomplete, Unavailable)


@dataclass
class Uploading:
    """A client that sends FILES step by step; `steps` end with the commit, or Incomplete."""

    deps: Deps
    actor: Actor
    commit: Commit | None = None

    def steps(self) -> Iterator[str]:
        deps, tree = self.deps, a_tree(FILES)
        dataset = a_dataset(deps, "new")
        keys = ProjectKeys(dataset.project_id)
        upload = uploads.create(deps, self.actor, the_project(deps))
        digests = list(tree.content)
        missing = uploads.missing(deps, upload, b"".join(digests))
        yield "asked what is missing"
        wanted = {digest: tree.content[digest] for digest, flag in zip(digests, missing, strict=True) if flag}
        if wanted:
            (slot,) = uploads.pack_slots(deps, upload, 1)
            pack = a_pack(wanted)
            deps.store.put(keys.pack(slot.id), pack)
            yield "wrote a pack"
            uploads.packs_written(deps, upload, [PackWritten(id=slot.id, size=len(pack))])
        slots = uploads.page_slots(deps, upload, list(tree.pages))
        yield "has slots for pages"
        for slot in slots:
            deps.store.put(keys.page(slot.id), pack_page(tree.pages[slot.id]))
        yield "sent pages"
        proposal = Proposal(tree.root, "main", None, [], "", owner=upload.owner, upload_id=upload.id)
        checked = accept.check(deps, dataset, proposal)
        yield "was checked"
        self.commit = accept.make_visible(deps, self.actor, dataset, proposal, checked)


def collecting(deps: Deps) -> Iterator[str]:
    """One collection; what somebody else's commit made stale is not carried out."""
    project_id = the_project(deps).id
    collect.remove_commits(deps, project_id, HURRIED)
    plan = collect.look(deps, project_id, HURRIED)
    assert not isinstance(plan, str), plan
    yield "marked"
    with suppress(collect.Moved):
        collect.remove_pages(deps, plan, HURRIED)
        yield "removed pages"
        collect.condemn(deps, plan, HURRIED)
        yield "condemned"
        collect.delete(deps, plan, HURRIED)
        yield "deleting"
    with doomed.permission(deps) as held:
        doomed.remove_all(held)


def garbage(deps: Deps) -> None:
    """FILES in the lake, with nothing that names them."""
    a_commit(deps, FILES, dataset="old")
    old = a_dataset(deps, "old")
    datasets.delete(deps, the_admin(deps), old)
    assert purge.purge_dataset(deps, the_admin(deps), old, deps.clock.now())


def drive(steps: Iterator[str]) -> bool:
    """One step; whether there are more."""
    return next(steps, None) is not None


# Where the steps of the collection fall among those of both: 5 of 11.
EVERY_ORDER = list(combinations(range(11), 5))
WHOLE_COLLECTION_AT_ONE_POINT = [tuple(range(start, start + 5)) for start in range(7)]
WHOLE_UPLOAD_AT_ONE_POINT = [tuple({*range(11)} - {*range(start, start + 6)}) for start in range(1, 5)]
BETWEEN = pytest.mark.parametrize("days", [0.0, DAYS], ids=["quickly", "days between steps"])


@BETWEEN
@pytest.mark.parametrize("order", WHOLE_COLLECTION_AT_ONE_POINT + WHOLE_UPLOAD_AT_ONE_POINT, ids=str)
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
    garbage(deps)
    client = Uploading(deps, the_admin(deps))
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
    assert read_all(deps, a_dataset(deps, "new"), client.commit) == FILES, order
    clock.advance(DAYS)
    collect.collect(deps, the_admin(deps), now=True)
    assert read_all(deps, a_dataset(deps, "new"), client.commit) == FILES, order
    new = a_dataset(deps, "new")
    datasets.delete(deps, the_admin(deps), new)
    assert purge.purge_dataset(deps, the_admin(deps), new, clock.now())
    clock.advance(DAYS)
    report = collect.collect(deps, the_admin(deps), now=True).projects[0]
    clock.advance(DAYS)
    collect.collect(deps, the_admin(deps), now=True)
    left = [info.key for info in deps.store.list(ProjectKeys(the_project(deps).id).prefix)]
    assert [key for key in left if "/locators/" not in key] == [], (order, report)
