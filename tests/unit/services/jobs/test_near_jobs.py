"""Jobs run beside volumes of other sites that are near and seen; and what the cache saves them is counted."""

from __future__ import annotations

from millpond.db import volume_usage
from millpond.model.job import JobState
from millpond.model.people import SYSTEM
from millpond.model.topology import CacheUses
from millpond.services.caches import job_caches
from millpond.services.computes import agents as agent_service
from millpond.services.jobs import job_data
from millpond.services.places import links
from millpond.testing.builders_work import GB, AddedAgent, add_agent, add_commit, observed
from millpond.wire.desired import Desired
from millpond.wire.observed import NodeFacts, VolumeSeen
from tests.unit.services.world import World

TEN_GBIT = 10 * 10**9


def sync(world: World, agent: AddedAgent, **told: object) -> Desired:
    node = NodeFacts(name=agent.agent.compute, cpus=4, memory_bytes=16 * GB, gpus=2)
    seen = observed(node, instance=agent.agent.compute, **told)
    return agent_service.desired(world.deps, agent_service.observe(world.deps, agent.actor, seen), seen)


def uses(world: World) -> CacheUses:
    with world.deps.db.read() as tx:
        return volume_usage.uses(tx, among=None)


def test_a_job_runs_at_a_near_site_on_the_volume_that_has_its_data(world: World) -> None:
    gpu = add_agent(world.deps.db, "gpu", site="gpu", gpus=2, now=world.clock.now())
    add_commit(world.deps.db, "xray")
    job = world.submit("train", inputs=["xray"], gpu_hundredths=100)
    world.schedule()
    assert any("No working volume is near gpu" in reason for reason in world.why(job.id))

    links.put(world.deps, SYSTEM, "local", "gpu", bits_per_second=TEN_GBIT)
    world.schedule()
    assert world.job(job.id).status.state is JobState.QUEUED, "it is near, but nobody has seen it there"

    (wanted,) = sync(world, gpu).volumes
    assert (wanted.id, wanted.visited) == (world.volume.id, True)
    told = sync(world, gpu, volumes=[VolumeSeen(id=world.volume.id)])
    assert told.fills == [], "the volume's own site fills it"
    world.schedule()
    (placement,) = sync(world, gpu, volumes=[VolumeSeen(id=world.volume.id)]).placements
    assert (placement.inputs[0].volume_id, placement.inputs[0].ready) == (world.volume.id, False)
    world.fill_all()
    (placement,) = sync(world, gpu, volumes=[VolumeSeen(id=world.volume.id)]).placements
    assert placement.inputs[0].ready
    assert world.job(job.id).status.compute == "gpu"


def test_a_volume_of_another_site_that_is_not_near_is_not_used(world: World) -> None:
    gpu = add_agent(world.deps.db, "gpu", site="gpu", gpus=2, now=world.clock.now())
    links.put(world.deps, SYSTEM, "local", "gpu", bits_per_second=TEN_GBIT // 10)
    sync(world, gpu, volumes=[VolumeSeen(id=world.volume.id)])
    add_commit(world.deps.db, "xray")
    job = world.submit("train", inputs=["xray"], gpu_hundredths=100)
    world.schedule()
    assert world.job(job.id).status.state is JobState.QUEUED


def test_an_agent_that_cannot_use_its_own_volume_is_given_no_job_that_needs_it(world: World) -> None:
    world.sync(volumes=[VolumeSeen(id=world.volume.id, disk_free_bytes=100 * GB, commits=[])])
    other = add_agent(world.deps.db, "other", now=world.clock.now(), gpus=1)
    sync(world, other, volumes=[VolumeSeen(id=world.volume.id, problem="It is not mounted.")])
    add_commit(world.deps.db, "xray")
    job = world.submit("train", inputs=["xray"], gpu_hundredths=100)
    world.schedule()
    assert "No working volume is near other" in " ".join(world.why(job.id))


def test_what_a_job_finds_there_is_a_hit_and_what_was_brought_for_it_is_not(world: World) -> None:
    add_commit(world.deps.db, "xray")
    world.placed("first", inputs=["xray"])
    assert uses(world) == CacheUses(misses=1)
    world.fill_all()
    world.placed("second", inputs=["xray"])
    found = uses(world)
    assert (found.hits, found.misses, found.saved_bytes) == (1, 1, GB)


def test_a_job_that_joins_the_fill_of_another_saves_its_bytes(world: World) -> None:
    add_commit(world.deps.db, "xray")
    world.placed("first", inputs=["xray"])
    world.clock.advance(1)
    world.placed("second", inputs=["xray"])
    assert uses(world) == CacheUses(misses=1, saved_bytes=GB)


def test_bringing_data_ahead_never_lets_go_of_what_a_placed_job_holds(world: World) -> None:
    """Whoever submitted it does so beside the scheduler, which may be faster."""
    add_commit(world.deps.db, "xray")
    job, _ = world.placed("train", inputs=["xray"])
    held = world.leased()
    assert held
    job_data.prefetch(world.deps, job, world.clock.now())
    assert world.leased() == held


def test_a_placed_job_that_holds_nothing_is_brought_its_data_again(world: World) -> None:
    add_commit(world.deps.db, "xray")
    job, _ = world.placed("train", inputs=["xray"])
    with world.deps.db.write() as tx:
        job_caches.release_for_job(tx, job.id, now=world.clock.now())
    assert not world.leased()
    world.schedule()
    assert world.leased()
    world.fill_all()
    world.schedule()
    assert world.job(job.id).status.filled_at is not None
