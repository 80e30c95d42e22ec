from __future__ import annotations

from datetime import timedelta

from millpond.db import usage
from millpond.model.people import SYSTEM, Role
from millpond.model.run import UsageSample
from millpond.services import gpu_use
from millpond.services.people import projects
from millpond.testing.builders_work import GB
from millpond.wire.observed import NodeFacts, PlacementSeen
from tests.unit.services.world import World


def test_nodes_and_jobs_show_how_busy_their_gpus_are(world: World) -> None:
    node = NodeFacts(name="n1", cpus=8, memory_bytes=16 * GB, gpus=4, gpu_model="T4", declared=True)
    world.sync(nodes=[node])
    job, placement = world.placed(gpu_hundredths=200)
    world.sync(PlacementSeen(id=placement.id, state="running", started_at=world.clock.now()), nodes=[node])
    sample = UsageSample(world.clock.now() - timedelta(seconds=10), 1.0, 1, 0, 0, gpu_percent=50.0)
    with world.deps.db.write() as tx:
        usage.add(tx, job.id, [sample])
    found = gpu_use.gpu_use(world.deps, world.maria)
    (used,) = found.nodes
    assert (used.use.node.name, used.use.node.gpus, used.use.gpu_used_hundredths) == ("n1", 4, 200)
    assert used.gpus.percent == 25.0
    (shown,) = found.jobs
    assert (shown.job_id, shown.percent, shown.is_idle) == (job.id, 50.0, False)

    # How full nodes are is for everybody, whose jobs fill them is not.
    projects.create(world.deps, SYSTEM, name="other")
    stranger = world.actor("eve", Role.VIEWER, project="other")
    assert [view.gpus.percent for view in gpu_use.gpu_use(world.deps, stranger).nodes] == [25.0]
    assert gpu_use.gpu_use(world.deps, stranger).jobs == []
