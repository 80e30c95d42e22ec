from __future__ import annotations

import pytest

from millpond.errors import BadRequest, NotFound, StalePlacement
from millpond.services.runs import logs, series
from millpond.testing.builders_work import add_agent
from millpond.wire.agent import UsageBatch, UsageSample
from millpond.wire.observed import PlacementSeen
from tests.unit.services.world import World


def append(world: World, placement: str, offset: int, data: bytes) -> int:
    return logs.append(world.deps, world.agent.actor, placement, offset, data).offset


def test_bytes_are_added_where_the_log_ends_and_nowhere_else(world: World) -> None:
    job, desired = world.placed()
    assert append(world, desired.id, 0, b"") == 0
    assert append(world, desired.id, 0, b"hello ") == 6
    # Sent again, with more behind it.
    assert append(world, desired.id, 0, b"hello wor") == 9
    # Beyond the end: the answer says where to go on.
    assert append(world, desired.id, 20, b"later") == 9
    assert append(world, desired.id, 9, b"ld\n\xff\x00") == 14
    part = logs.read(world.deps, world.job(job.id), 0, 100)
    assert (part.data, part.offset, part.is_complete) == (b"hello world\n\xff\x00", 14, False)
    assert world.told(f"log:{job.id}")[-1]["size"] == 14


def test_reading_by_offset(world: World) -> None:
    job, desired = world.placed()
    append(world, desired.id, 0, b"0123456789")
    job = world.job(job.id)

    def read(offset: int, limit: int) -> tuple[bytes, int]:
        part = logs.read(world.deps, job, offset, limit)
        return part.data, part.offset

    assert read(2, 3) == (b"234", 5)
    assert read(-4, 100) == (b"6789", 10)
    assert read(-400, 2) == (b"01", 2)
    assert read(10, 5) == (b"", 10)
    assert read(99, 5) == (b"", 10)


def test_a_log_is_complete_when_the_job_has_ended_and_all_was_read(world: World) -> None:
    job = world.submit("train")
    assert logs.read(world.deps, job, 0, 10) == logs.LogPart(b"", 0, 0, 0, 0, False)
    world.schedule()
    (desired,) = world.sync().placements
    append(world, desired.id, 0, b"0123456789")
    world.sync(PlacementSeen(id=desired.id, state="finished", exit_code=0, started_at=world.clock.now()))
    ended = world.job(job.id)
    assert not logs.read(world.deps, ended, 0, 5).is_complete
    assert logs.read(world.deps, ended, 5, 5).is_complete
    with pytest.raises(StalePlacement):
        append(world, desired.id, 10, b"more")


def test_only_its_agent_writes_a_log(world: World) -> None:
    _, desired = world.placed()
    other = add_agent(world.deps.db, "other")
    with pytest.raises(NotFound):
        logs.append(world.deps, other.actor, desired.id, 0, b"not mine")
    with pytest.raises(NotFound):
        append(world, "nothing", 0, b"x")
    with pytest.raises(BadRequest):
        append(world, desired.id, -1, b"x")


def test_removing_logs_twice_is_fine(world: World) -> None:
    job, desired = world.placed()
    append(world, desired.id, 0, b"x")
    logs.remove(world.deps, job)
    logs.remove(world.deps, job)
    assert logs.read(world.deps, world.job(job.id), 0, 10).data == b""


def test_usage_is_kept_and_thinned(world: World) -> None:
    job, desired = world.placed()
    for start in range(0, 2000, 1000):
        samples = [
            UsageSample(
                at=world.clock.advance(2),
                cpu_percent=float(n % 2),
                memory_bytes=n,
                read_bytes=n,
                write_bytes=n,
                received_bytes=n,
                sent_bytes=n,
                network_shared=True,
            )
            for n in range(start, start + 1000)
        ]
        batch = UsageBatch(samples=samples)
        series.add_usage(world.deps, world.agent.actor, desired.id, batch)
        series.add_usage(world.deps, world.agent.actor, desired.id, batch)
    found = series.usage_series(world.deps, world.job(job.id))
    assert len(found) == series.USAGE_POINTS
    assert {sample.cpu_percent for sample in found} == {0.5}
    assert [sample.memory_bytes for sample in found] == list(range(3, 2000, 4))
    assert (found[-1].at, found[-1].sent_bytes, found[-1].network_shared) == (world.clock.now(), 1999, True)
    assert found[0].gpu_percent is None


def test_a_short_series_of_usage_is_whole(world: World) -> None:
    job, desired = world.placed()
    sample = UsageSample(at=world.clock.now(), cpu_percent=7.5, memory_bytes=1, read_bytes=2, write_bytes=3)
    series.add_usage(world.deps, world.agent.actor, desired.id, UsageBatch(samples=[sample]))
    (found,) = series.usage_series(world.deps, world.job(job.id))
    assert (found.cpu_percent, found.memory_bytes, found.network_shared) == (7.5, 1, None)
