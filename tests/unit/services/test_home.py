from __future__ import annotations

from datetime import timedelta
from typing import Any

from millpond.db import usage
from millpond.model.job import JobState
from millpond.model.people import SYSTEM, Role
from millpond.model.run import UsageSample
from millpond.services import home
from millpond.services.computes import agents, computes
from millpond.services.people import projects
from millpond.testing.builders_work import GB, add_agent, add_commit, add_job, observed
from millpond.testing.clock import NOON
from millpond.wire.observed import NodeFacts
from tests.unit.services.world import World


def test_computes_show_what_is_promised(world: World) -> None:
    gpus = NodeFacts(name="n1", cpus=8, memory_bytes=16 * GB, gpus=2, gpu_model="T4", declared=True)
    agents.observe(world.deps, add_agent(world.deps.db, "lab", site="lab").actor, observed(gpus))
    world.submit("train", gpu_hundredths=200, cpu=2, memory_bytes=GB)
    world.schedule()
    lab, local = computes.list_computes(world.deps, limit=10, cursor=None).items
    (node,) = lab.nodes
    assert (lab.compute.name, lab.compute.site, lab.connected) == ("lab", "lab", True)
    assert (node.running, node.cpu_used, node.memory_used_bytes, node.gpu_used_hundredths) == (1, 2, GB, 200)
    assert (local.compute.name, local.nodes[0].running) == ("local", 0)


def test_a_compute_that_is_silent_is_not_connected(world: World) -> None:
    world.clock.advance(46)
    (local,) = computes.list_computes(world.deps, limit=10, cursor=None).items
    assert not local.connected
    assert home.home(world.deps, world.maria).computes_connected == 0


def test_the_numbers_of_the_first_page(world: World) -> None:
    add_commit(world.deps.db, "xray", size=3 * GB)
    world.submit("first", inputs=["xray"], cpu=4)
    world.submit("second", cpu=4)
    world.schedule()
    found = home.home(world.deps, world.maria)
    assert (found.jobs_running, found.jobs_waiting, found.datasets) == (1, 1, 1)
    # What is on its way is not cached yet.
    assert (found.cached_bytes, found.volume_bytes, found.computes_connected) == (0, 100 * GB, 1)
    assert [view.written for view in found.recent_jobs] == ["second", "first"]


def test_nothing_of_other_projects_is_counted(world: World) -> None:
    projects.create(world.deps, SYSTEM, name="other")
    add_job(world.deps.db, project="other")
    add_commit(world.deps.db, "secret", project="other")
    found = home.home(world.deps, world.actor("jonas", Role.VIEWER))
    assert (found.jobs_waiting, found.datasets, list(found.recent_jobs)) == (0, 0, [])


def test_gpus_that_nobody_uses_are_counted_and_their_jobs_named(world: World) -> None:
    other = projects.create(world.deps, SYSTEM, name="other")
    held: dict[str, Any] = {
        "state": JobState.RUNNING,
        "started_at": NOON - timedelta(hours=1),
        "gpu_hundredths": 200,
    }
    idle, busy = add_job(world.deps.db, name="idle", **held), add_job(world.deps.db, name="busy", **held)
    theirs = add_job(world.deps.db, project=other.name, name="theirs", processes=3, **held)
    now = world.clock.now()
    with world.deps.db.write() as tx:
        for job, percent in ((idle, 0.0), (busy, 60.0), (theirs, 0.2)):
            usage.add(tx, job.id, [UsageSample(now - timedelta(minutes=1), 1.0, 1, 0, 0, gpu_percent=percent)])
    found = home.home(world.deps, world.actor("jonas", Role.VIEWER))
    assert (found.gpu_idle_hundredths, [view.job.name for view in found.idle_jobs]) == (800, ["idle"])
