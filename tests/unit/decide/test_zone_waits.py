"""How long a job waits for room in a zone, by what runs there and its time limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from millpond.decide.scheduling.snapshot import Job, Node, Running, Seat, Size
from millpond.decide.zone_waits import ZoneWaits
from millpond.testing.scheduling import a_gpu_node

NOW = 1000.0
NODES = (
    replace(a_gpu_node("n1", 2, compute="c1"), zone="a", offers=frozenset({"gpu"})),
    replace(a_gpu_node("n2", 2, compute="c1"), zone="a"),
    replace(a_gpu_node("n3", 4, compute="c2"), zone="b", open=False),
)


def runs(name: str, node: str, *gpus: int, limit: float | None = None, started: float = 900.0) -> Running:
    job = Job(name, "p", Size(gpu=100 * len(gpus)), time_limit=limit)
    return Running(job, (Seat(node, gpus),), started)


def waits(*running: Running, nodes: tuple[Node, ...] = NODES) -> ZoneWaits:
    return ZoneWaits(nodes, running, NOW)


@pytest.mark.parametrize(
    ("running", "size", "requires", "expected"),
    [
        ([], Size(gpu=200), set(), 0.0),
        ([runs("x", "n1", 0, 1)], Size(gpu=200), set(), 0.0),
        ([runs("x", "n1", 0, 1)], Size(gpu=200), {"gpu"}, None),
        ([runs("x", "n1", 0, 1, limit=160)], Size(gpu=200), {"gpu"}, 60.0),
        ([runs("x", "n1", 0, limit=160), runs("y", "n2", 0, limit=130)], Size(gpu=200), set(), 30.0),
        ([runs("x", "n1", 0)], Size(gpu=200, processes=2), set(), None),
        ([], Size(gpu=200, processes=2), set(), 0.0),
        ([], Size(gpu=400), set(), None),
    ],
)
def test_waits(running: list[Running], size: Size, requires: set[str], expected: float | None) -> None:
    assert waits(*running).wait("a", size, frozenset(requires)) == expected


def test_what_could_run() -> None:
    found = waits()
    assert found.could_run("a", Size(gpu=200), frozenset({"gpu"}))
    assert not found.could_run("a", Size(gpu=300), frozenset())
    assert found.could_run("b", Size(gpu=400), frozenset())
    assert not found.could_run("b", Size(gpu=400), frozenset(), now=True)
    assert not found.could_run("c", Size(), frozenset())
