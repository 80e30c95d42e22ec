"""Jobs that may run on several templates: who starts where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.decide.scheduling.bursts import plan_bursts
from millpond.decide.scheduling.snapshot import Pending, Place, Snapshot
from millpond.testing.scheduling import a_gpu_node, a_pending, a_project


def on(wanted: Pending, *zones: str, gpus: int = 1) -> Pending:
    size = wanted.job.size._replace(gpu=gpus * 100)
    return replace(wanted, job=replace(wanted.job, size=size), places=tuple(Place(zone) for zone in zones))


def a_snapshot(*pending: Pending, here: int = 1, cloud: int = 4) -> Snapshot:
    nodes = (
        replace(a_gpu_node("n1", here, compute="here"), zone="here"),
        replace(a_gpu_node("n2", cloud, compute="cloud"), zone="cloud"),
    )
    return Snapshot(now=100.0, nodes=nodes, projects=(a_project("a"),), pending=pending)


def starts(snapshot: Snapshot, ways: dict[str, list[Pending]]) -> dict[str, tuple[str, int]]:
    """By job: the node it starts on and which way that is."""
    found = plan_bursts(snapshot, ways)
    return {one.job: (one.seats[0].node, found.chosen.get(one.job, 0)) for one in found.plan.starts}


def test_the_first_template_that_has_room_is_taken() -> None:
    first, second = a_pending("j1", "a", 1), a_pending("j2", "a", 1)
    ways = {one.job.id: [on(one, "here"), on(one, "cloud", gpus=2)] for one in (first, second)}
    assert starts(a_snapshot(*(found[0] for found in ways.values())), ways) == {"j1": ("n1", 0), "j2": ("n2", 1)}


def test_without_room_anywhere_the_job_stays_in_line_for_the_first() -> None:
    one = a_pending("j1", "a", 2)
    ways = {"j1": [on(one, "here", gpus=2), on(one, "cloud", gpus=8)]}
    found = plan_bursts(a_snapshot(ways["j1"][0]), ways)
    assert found.plan.starts == ()
    assert found.chosen == {"j1": 0}
    assert found.snapshot.pending == (ways["j1"][0],)


@pytest.mark.parametrize("count", [1, 3])
def test_each_template_is_tried_in_turn(count: int) -> None:
    one = a_pending("j1", "a", 1)
    ways = {"j1": [*[on(one, "here", gpus=4)] * count, on(one, "cloud")]}
    assert starts(a_snapshot(ways["j1"][0]), ways) == {"j1": ("n2", count)}


def test_jobs_with_one_way_are_planned_once() -> None:
    one = on(a_pending("j1", "a", 1), "here")
    assert starts(a_snapshot(one), {"j1": [one]}) == {"j1": ("n1", 0)}
