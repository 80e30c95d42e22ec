"""Jobs that are to be apart, as replicas of one version, go to different nodes as far as there is room."""

from __future__ import annotations

from collections import Counter

from millpond.decide.scheduling.snapshot import Pending
from millpond.testing.scheduling import Cluster, a_gpu_node, a_pending, a_project


def placed(nodes: int, *jobs: Pending) -> Counter[str]:
    cluster = Cluster(tuple(a_gpu_node(f"n{number}", 2) for number in range(nodes)), (a_project("a", 4),))
    for job in jobs:
        cluster.submit(job)
        cluster.settle()
    return Counter(seat.node for one in cluster.running.values() for seat in one.seats)


def job(name: str, apart: str, gpus: float = 1) -> Pending:
    return a_pending(name, "a", gpus, apart=apart)


def test_those_of_one_word_are_spread_and_others_packed() -> None:
    assert placed(2, job("1", "xray m@1"), job("2", "xray m@1")) == {"n0": 1, "n1": 1}
    assert placed(2, job("1", ""), job("2", "")) == {"n0": 2}
    assert placed(2, job("1", "xray m@1"), job("2", "xray m@2")) == {"n0": 2}


def test_where_there_is_no_other_node_they_share_one() -> None:
    assert placed(1, job("1", "xray m@1"), job("2", "xray m@1")) == {"n0": 2}
    assert placed(2, *(job(str(number), "xray m@1") for number in range(4))) == {"n0": 2, "n1": 2}
    assert placed(2, job("1", "", 2), job("2", "xray m@1"), job("3", "xray m@1")) == {"n0": 1, "n1": 2}
