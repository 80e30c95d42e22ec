from __future__ import annotations

import pytest

from millpond.decide.clusters.scheduler import scheduler_memory
from millpond.model.cluster import ClusterKind, ClusterSpec

GB = 10**9


@pytest.mark.parametrize(
    ("of_worker", "asked", "reserved"),
    [(0, 0, 0), (GB // 2, 0, GB), (2 * GB, 0, 2 * GB), (64 * GB, 0, 4 * GB), (64 * GB, 8 * GB, 8 * GB), (0, GB, GB)],
)
def test_a_scheduler_reserves_as_much_as_a_worker_within_limits(of_worker: int, asked: int, reserved: int) -> None:
    spec = ClusterSpec(kind=ClusterKind.DASK, memory_bytes=of_worker, scheduler_memory_bytes=asked)
    assert scheduler_memory(spec) == reserved
