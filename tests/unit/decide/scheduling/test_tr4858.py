"""The acceptance test of TR-4858: 2 nodes of 8 GPUs, quotas 4/2/2/8, sections 4.8 to 4.10."""

from __future__ import annotations

from itertools import permutations

import pytest

from millpond.decide.scheduling.snapshot import Pending
from millpond.testing.scheduling import Cluster, a_gpu_node, a_pending, a_project

QUOTAS = {"team-a": 4, "team-b": 2, "team-c": 2, "team-d": 8}


def job(name: str, gpus: float, *, interactive: bool = False) -> Pending:
    return a_pending(name, f"team-{name[0]}", gpus, preemptible=not interactive)


FULL = [
    job("a-1-1-jupyter", 1, interactive=True), job("a-1-g", 1), job("a-2-gg", 2),
    job("b-1-g06", 0.6, interactive=True), job("b-2-g04", 0.4, interactive=True), job("b-3-g", 1), job("b-4-gg", 2),
    job("c-1-g05", 0.5, interactive=True), job("c-2-g03", 0.3, interactive=True), job("c-3-g02", 0.2, interactive=True),
    job("c-4-gg", 2), job("c-5-g", 1),
    job("d-1-gggg", 4),
]  # fmt: skip
MORE = [job("a-3-gg", 2), job("a-4-gg", 2), job("b-5-gg", 2), job("c-6-gg", 2)]
OF_D = ("d-1-gggg", "d-2-gg", "d-3-gg")


@pytest.fixture
def cluster() -> Cluster:
    nodes = tuple(a_gpu_node(name) for name in ("dgx1-1", "dgx1-2"))
    return Cluster(nodes, tuple(a_project(name, quota) for name, quota in QUOTAS.items()))


def of(cluster: Cluster) -> tuple[float, ...]:
    return tuple(cluster.allocated().values())


def test_4_8_every_job_runs_and_every_gpu_is_taken(cluster: Cluster) -> None:
    cluster.submit(*FULL)
    assert of(cluster) == (4, 4, 4, 4)
    assert len(cluster.running) == 13
    assert not cluster.preempted
    gpus = {(seat.node, seat.gpu_ids) for name in ("b-1-g06", "b-2-g04") for seat in cluster.running[name].seats}
    assert len(gpus) == 1
    shared = ("c-1-g05", "c-2-g03", "c-3-g02")
    assert len({seat for name in shared for seat in cluster.running[name].seats}) == 1


def test_4_9_one_job_of_b_and_one_of_c_pause(cluster: Cluster) -> None:
    cluster.submit(*FULL)
    cluster.submit(job("d-2-gg", 2))
    assert set(cluster.pending) in ({"b-4-gg"}, {"c-4-gg"})
    cluster.submit(job("d-3-gg", 2))
    assert set(cluster.pending) == {"b-4-gg", "c-4-gg"}
    assert sorted(cluster.preempted) == ["b-4-gg", "c-4-gg"]
    assert of(cluster) == (4, 2, 2, 8)


@pytest.mark.parametrize("order", [*permutations(OF_D), "at once"], ids=str)
def test_4_10_spare_gpus_are_divided_by_quota(cluster: Cluster, order: tuple[str, ...] | str) -> None:
    cluster.submit(*FULL, job("d-2-gg", 2), job("d-3-gg", 2))
    cluster.submit(*MORE)
    assert set(cluster.pending) == {"b-4-gg", "c-4-gg", "a-3-gg", "a-4-gg", "b-5-gg", "c-6-gg"}
    before = list(cluster.preempted)
    for names in [OF_D] if order == "at once" else [(name,) for name in order]:
        cluster.delete(*names)
        cluster.settle()
    assert of(cluster) == (8, 4, 4, 0)
    assert len({"b-4-gg", "b-5-gg"} & set(cluster.pending)) == 1
    assert len({"c-4-gg", "c-6-gg"} & set(cluster.pending)) == 1
    assert len(cluster.pending) == 2
    assert cluster.preempted == before


def test_planning_again_changes_nothing(cluster: Cluster) -> None:
    for one in [*FULL, job("d-2-gg", 2), job("d-3-gg", 2), *MORE]:
        cluster.submit(one)
        cluster.now += 30
        assert cluster.settle().changes_nothing
