"""Interactive jobs: what is noted as use, and what is stopped without it."""

from __future__ import annotations

import pytest

from millpond.errors import Invalid
from millpond.model.job import Job
from millpond.model.job_spec import JobKind
from millpond.services.jobs import idle
from millpond.wire.observed import Capabilities, PlacementSeen
from tests.unit.services.world import World

MINUTE = 60
OPEN = Capabilities(exec=True, ports=True, shared_trust=False)


@pytest.fixture(autouse=True)
def people_reach_jobs(world: World) -> None:
    world.sync(capabilities=OPEN)


def running(world: World, name: str) -> Job:
    job, placement = world.placed(name, interactive=True, ports=[8888, 8888], idle_seconds=60 * MINUTE)
    seen = PlacementSeen(id=placement.id, state="running", started_at=world.clock.now())
    world.sync(seen, capabilities=OPEN)
    return world.job(job.id)


def test_one_that_nobody_uses_is_stopped_and_says_why(world: World) -> None:
    used = running(world, "used")
    left = running(world, "left")
    world.clock.advance(50 * MINUTE)
    idle.note_use(world.deps, world.job(used.id))
    world.clock.advance(20 * MINUTE)
    assert idle.stop_idle(world.deps, world.clock.now()) == 1
    assert world.job(used.id).status.stop_requested_at is None
    assert world.job(left.id).status.stop_requested_at == world.clock.now()
    assert world.job(left.id).status.reasons[-1].startswith("Stopped after 1 h")
    assert idle.stop_idle(world.deps, world.clock.now()) == 0, "once"


def test_what_was_asked_for_is_kept(world: World) -> None:
    job = world.submit("notebook", interactive=True, ports=[8888, 6006, 8888], idle_seconds=60)
    assert (job.spec.kind, job.spec.ports, job.spec.idle_seconds) == (JobKind.INTERACTIVE, (8888, 6006), 60)


def test_ports_are_for_interactive_jobs(world: World) -> None:
    with pytest.raises(Invalid, match="interactive"):
        world.submit("train", ports=[8888])
