"""Shared trust: who is let onto computes whose jobs share one account, and onto the volumes beside them."""

from __future__ import annotations

import pytest

from millpond.db import caches, projects, volumes
from millpond.db import computes as rows
from millpond.errors import BadRequest, NotFound, NotTrusted
from millpond.model.compute import Trust
from millpond.model.job import JobState
from millpond.model.people import SYSTEM
from millpond.services.caches.admission.admit import begin_fill
from millpond.services.computes import computes, trust
from millpond.testing.builders_work import add_agent, add_commit
from millpond.wire.observed import Capabilities
from tests.unit.services.world import World

SHARED = Capabilities(shared_trust=True)
APART = Capabilities(shared_trust=False)


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        (Trust(), True),
        (Trust(shared=True), False),
        (Trust(shared=True, all=True), True),
        (Trust(shared=True, projects=frozenset({"p1"})), True),
        (Trust(shared=True, projects=frozenset({"p2"})), False),
    ],
)
def test_whom_a_place_takes(found: Trust, accepted: bool) -> None:
    assert found.accepts("p1") is accepted


def test_a_job_waits_until_its_project_is_let_in(world: World) -> None:
    world.sync(capabilities=SHARED)
    job = world.submit("train")
    world.schedule()
    assert world.why(job.id)[-1] == (
        "Waiting: local runs all jobs under one account, and project default is not allowed there. "
        "An administrator can allow it: mill compute trust local --project default"
    )
    trust.let_in(world.deps, SYSTEM, "local", ["default"], everyone=False)
    world.schedule()
    assert world.job(job.id).status.state is JobState.PLACED


def test_kept_apart_every_project_is_taken(world: World) -> None:
    world.sync(capabilities=APART)
    job = world.submit("train")
    world.schedule()
    assert world.job(job.id).status.state is JobState.PLACED


def test_what_was_said_is_shown_and_can_be_taken_back(world: World) -> None:
    world.sync(capabilities=SHARED)
    for _ in range(2):
        shown = trust.let_in(world.deps, SYSTEM, "local", ["default"], everyone=False).trust
    assert shown == Trust(shared=True, projects=frozenset({world.project.id}))
    assert trust.keep_out(world.deps, SYSTEM, "local", ["default"], everyone=False).trust == Trust(shared=True)
    assert trust.let_in(world.deps, SYSTEM, "local", [], everyone=True).trust == Trust(shared=True, all=True)
    assert trust.keep_out(world.deps, SYSTEM, "local", [], everyone=True).trust == Trust(shared=True)
    with pytest.raises(BadRequest, match="Give at least one project"):
        trust.let_in(world.deps, SYSTEM, "local", [], everyone=False)
    with pytest.raises(NotFound):
        trust.let_in(world.deps, SYSTEM, "local", ["nothing"], everyone=False)
    assert computes.get(world.deps, "local").trust == Trust(shared=True)


def test_names_are_told_to_those_who_may_know_them(world: World) -> None:
    found = Trust(shared=True, projects=frozenset({world.project.id}))
    with world.deps.db.read() as tx:
        assert list(trust.shown(tx, found, world.maria)) == ["default"]
        assert list(trust.shown(tx, found, world.agent.actor)) == []


def test_a_volume_takes_whom_all_shared_computes_beside_it_take(world: World) -> None:
    """What lies there can be read by the jobs of every one of them."""
    world.sync(capabilities=SHARED)
    other = add_agent(world.deps.db, "other").agent
    with world.deps.db.write() as tx:
        rows.change(tx, other.compute_id, capabilities=SHARED.model_dump())
    trust.let_in(world.deps, SYSTEM, "local", ["default"], everyone=False)
    commit = add_commit(world.deps.db, "xray")
    with pytest.raises(NotTrusted, match="project default is not allowed"):
        fill(world, commit)
    trust.let_in(world.deps, SYSTEM, "other", [], everyone=True)
    fill(world, commit)
    with world.deps.db.read() as tx:
        assert trust.of_volume(tx, world.volume) == Trust(shared=True, projects=frozenset({world.project.id}))


def fill(world: World, commit: str) -> None:
    with world.deps.db.write() as tx:
        volume, size = volumes.lock(tx, world.volume.id), caches.size_of(tx, commit)
        assert volume is not None and size is not None
        begin_fill(tx, volume, size, requested_by="maria", now=world.clock.now())


def test_every_project_has_a_number_of_its_own_that_agents_are_told(world: World) -> None:
    with world.deps.db.read() as tx:
        numbers = projects.accounts(tx, [world.project.id])
    job = world.submit("train")
    world.schedule()
    (placement,) = world.sync().placements
    assert (placement.job_id, placement.account) == (job.id, numbers[world.project.id])
    assert placement.account > 0
