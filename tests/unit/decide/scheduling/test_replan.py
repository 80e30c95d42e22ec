"""A planner that is told event by event what happens makes the same plans as one that begins anew each time."""

from __future__ import annotations

from random import Random

import pytest

from millpond.decide.scheduling.planner import Planner, plan
from millpond.decide.scheduling.snapshot import Pending
from millpond.testing.scheduling import Cluster, a_gpu_node, a_pending, a_project


@pytest.mark.parametrize(
    ("nodes", "events"),
    [(12, 300), pytest.param(100, 1000, marks=pytest.mark.long), pytest.param(1000, 30, marks=pytest.mark.long)],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_planning_event_by_event_gives_the_full_plan(nodes: int, events: int, seed: int) -> None:
    random = Random(seed)
    cluster = a_busy_cluster(random, nodes)
    kept = Planner(cluster.snapshot())
    for number in range(events):
        cluster.now += random.choice([1, 30])
        happen(cluster, kept, random, number)
        made = plan(cluster.snapshot())
        assert kept.plan(cluster.now) == made
        cluster.follow(made)
        if random.random() < 0.5:
            end_victims(cluster, kept)


def a_busy_cluster(random: Random, nodes: int) -> Cluster:
    """Full of jobs, with three waiting for each node."""
    machines = tuple(a_gpu_node(f"n{number:04}", compute=f"site{number % 4}") for number in range(nodes))
    teams = tuple(a_project(f"p{number:02}", nodes * 8 // 10) for number in range(10))
    cluster = Cluster(machines, teams)
    for number in range(11 * nodes):
        wanted = a_random_job(random, f"j{number:05}", cluster.now - number)
        cluster.pending[wanted.job.id] = wanted
    cluster.settle()
    return cluster


def a_random_job(random: Random, name: str, submitted: float) -> Pending:
    gpus = random.choice([0.25, 0.5, 1, 1, 1, 2, 4, 8])
    return a_pending(
        name,
        f"p{random.randrange(10):02}",
        gpus,
        processes=random.randint(2, 3) if gpus == 8 and random.random() < 0.3 else 0,
        priority=random.choice([0, 0, 0, 1]),
        preemptible=random.random() < 0.9,
        time_limit=random.choice([None, 600.0, 3600.0]),
        submitted=submitted,
    )


def happen(cluster: Cluster, kept: Planner, random: Random, number: int) -> None:
    """A job ends, is deleted or arrives."""
    gone = random.choice([cluster.running, cluster.pending])
    if gone and random.random() < 0.5:
        name = random.choice(sorted(gone))
        cluster.delete(name)
        kept.leave(name)
        return
    wanted = a_random_job(random, f"new{number:04}", cluster.now)
    cluster.pending[wanted.job.id] = wanted
    kept.wait(wanted)


def end_victims(cluster: Cluster, kept: Planner) -> None:
    ended = sorted(cluster.ending)
    begun = [name for name, one in cluster.running.items() if one.nominated]
    cluster.end_victims()
    for name in ended:
        kept.wait(cluster.pending[name])
    for name in begun:
        kept.change(cluster.running[name])
