"""Distributed jobs at the server: a log for each rank, and what is told of them."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.errors import DoesNotFit, NotFound
from millpond.model.job import Ending, Job, JobState
from millpond.services.jobs import jobs
from millpond.services.runs import log_search, logs
from millpond.wire.desired import DesiredPlacement
from millpond.wire.observed import Capabilities, NodeFacts, PlacementSeen, RankSeen
from tests.unit.services.world import World

ABLE = {"capabilities": Capabilities(gangs=True, shared_trust=False)}


def placed(world: World, **wanted: Any) -> tuple[Job, DesiredPlacement]:
    world.sync(**ABLE)
    return world.placed(**{"processes": 3, "cpu": 1, **wanted})


def ended(desired: DesiredPlacement, **how: Any) -> PlacementSeen:
    return PlacementSeen(id=desired.id, state="finished", **how)


def test_every_process_has_its_place_and_is_accounted_for(world: World) -> None:
    _, desired = placed(world)
    assert [rank.node for rank in desired.ranks] == ["local"] * 3
    assert (desired.spec.cpu, len(desired.ranks)) == (1, 3)
    waiting = world.submit("other", cpu=2)
    world.schedule()
    assert "1 of 4 CPUs free" in world.why(waiting.id)[-1]


def test_a_compute_that_cannot_start_gangs_is_refused(world: World) -> None:
    world.sync(capabilities=Capabilities(shared_trust=False))
    with pytest.raises(DoesNotFit, match="distributed"):
        world.submit("train", processes=2)


def test_more_than_there_ever_is_is_refused(world: World) -> None:
    world.sync(**ABLE)
    with pytest.raises(DoesNotFit, match="room for 5 processes"):
        world.submit("train", processes=5, cpu=1)


def test_each_rank_has_a_log_of_its_own(world: World) -> None:
    job, desired = placed(world)
    for rank in (0, 2):
        logs.append(world.deps, world.agent.actor, desired.id, 0, f"I am {rank}\n".encode(), rank=rank)
    job = world.job(job.id)
    read = [logs.read(world.deps, job, 0, 100, rank=rank).data for rank in range(3)]
    assert read == [b"I am 0\n", b"", b"I am 2\n"]
    assert [(one.rank, one.size) for one in logs.attempts(world.deps, job)] == [(0, 7), (1, 0), (2, 7)]
    assert {data["rank"] for data in world.told(f"log:{job.id}")} == {0, 2}
    with pytest.raises(NotFound, match="ranks 0 to 2"):
        logs.read(world.deps, job, 0, 100, rank=3)
    with pytest.raises(NotFound):
        logs.append(world.deps, world.agent.actor, desired.id, 0, b"who?", rank=3)


def test_the_log_of_the_rank_that_failed_comes_first(world: World) -> None:
    job, desired = placed(world)
    for rank in range(3):
        logs.append(world.deps, world.agent.actor, desired.id, 0, f"I am {rank}\n".encode(), rank=rank)
    ranks = [
        RankSeen(rank=0, state="ended", node="local", signal=15),
        RankSeen(rank=1, state="ended", node="local", exit_code=0),
        RankSeen(rank=2, state="ended", node="local", exit_code=3),
    ]
    world.sync(ended(desired, exit_code=3, started_at=world.clock.now(), failed_rank=2, ranks=ranks))
    job = world.job(job.id)
    assert (job.status.state, job.status.ending, job.status.exit_code, job.status.failed_rank) == (
        JobState.FAILED,
        Ending.EXIT,
        3,
        2,
    )
    assert job.status.problem == "rank 2 of 3: exit code 3"
    assert logs.read(world.deps, job, 0, 100).data == b"I am 2\n"
    hits = list(log_search.search(world.deps, job, log_search.Query("I am")))
    assert isinstance(hits[0], log_search.Hit) and hits[0].text == b"I am 2"
    (attempt,) = jobs.attempts(world.deps, world.project, job.id)
    assert [(one.exit_code, one.signal) for one in attempt.placement.ranks] == [(None, 15), (0, None), (3, None)]
    logs.remove(world.deps, job)
    assert [one.size for one in logs.attempts(world.deps, job)] == [0, 0, 0]


def test_ranks_are_told_of_while_they_run(world: World) -> None:
    job, desired = placed(world)
    seen = [RankSeen(rank=rank, state="running", node=f"n{rank}") for rank in range(3)]
    world.sync(PlacementSeen(id=desired.id, state="running", started_at=world.clock.now(), ranks=seen))
    (attempt,) = jobs.attempts(world.deps, world.project, job.id)
    assert [one.node for one in attempt.placement.ranks] == ["n0", "n1", "n2"]


def test_a_retry_starts_all_ranks_again(world: World) -> None:
    job, desired = placed(world, retries=1, backoff_seconds=0)
    world.sync(ended(desired, exit_code=1, started_at=world.clock.now(), failed_rank=1), **ABLE)
    assert world.job(job.id).status.state is JobState.QUEUED
    world.clock.advance(1)
    world.schedule()
    (again,) = world.sync(**ABLE).placements
    assert again.id != desired.id and len(again.ranks) == 3
    assert world.job(job.id).status.failed_rank is None


def test_processes_spread_over_nodes_are_held_where_they_are(world: World) -> None:
    nodes = [NodeFacts(name=name, cpus=2, memory_bytes=10**9) for name in ("n1", "n2")]
    world.sync(nodes=nodes, **ABLE)
    world.submit("train", processes=3, cpu=1)
    world.schedule()
    (desired,) = world.sync(nodes=nodes, **ABLE).placements
    assert sorted(rank.node for rank in desired.ranks) == ["n1", "n1", "n2"]
