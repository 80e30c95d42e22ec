from __future__ import annotations

from datetime import timedelta

from millpond.db import usage
from millpond.model.people import SYSTEM, Role
from millpond.model.run import UsageSample
from millpond.services import top
from millpond.services.people import projects
from millpond.testing.builders_work import GB
from millpond.wire.observed import NodeFacts, PlacementSeen
from tests.unit.services.world import World


def test_nodes_and_jobs_show_what_is_used_and_reserved(world: World) -> None:
    node = NodeFacts(name="n1", cpus=8, memory_bytes=16 * GB, gpus=4, gpu_model="T4", declared=True)
    world.sync(nodes=[node])
    job, placement = world.placed(gpu_hundredths=200, cpu=2, memory_bytes=GB)
    world.sync(PlacementSeen(id=placement.id, state="running", started_at=world.clock.now()), nodes=[node])
    samples = [
        UsageSample(world.clock.now() - timedelta(seconds=s), 150.0, s * 10, 0, 0, gpu_percent=50.0) for s in (5, 9)
    ]
    with world.deps.db.write() as tx:
        usage.add(tx, job.id, samples)
    found = top.top(world.deps, world.maria)
    (on,) = found.nodes
    assert (on.use.node.name, on.use.cpu_used, on.use.gpu_used_hundredths) == ("n1", 2, 200)
    assert (on.measured.cpu_percent, on.measured.memory_bytes, on.gpu_percent) == (150.0, 90, 25.0)
    (shown,) = found.jobs
    assert shown.measured is not None and shown.measured.cpu_percent == 150.0
    assert (shown.job.id, shown.gpu_percent, shown.is_idle) == (job.id, 50.0, False)

    projects.create(world.deps, SYSTEM, name="other")
    stranger = world.actor("eve", Role.VIEWER, project="other")
    assert top.top(world.deps, stranger).jobs == []
    assert len(top.top(world.deps, stranger).nodes) == 1


def test_old_samples_tell_nothing_of_now(world: World) -> None:
    job, placement = world.placed()
    world.sync(PlacementSeen(id=placement.id, state="running", started_at=world.clock.now()))
    with world.deps.db.write() as tx:
        usage.add(tx, job.id, [UsageSample(world.clock.now() - timedelta(minutes=5), 150.0, 1, 0, 0)])
    assert [one.measured for one in top.top(world.deps, world.maria).jobs] == [None]
