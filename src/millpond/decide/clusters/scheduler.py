"""What the scheduler of a cluster reserves."""

from __future__ import annotations

from millpond.model.cluster import ClusterSpec

LEAST_BYTES, MOST_BYTES = 1_000_000_000, 4_000_000_000


def scheduler_memory(spec: ClusterSpec) -> int:
    """What was asked for; otherwise as much as a worker, from 1 to 4 GB. 0 where workers reserve none either."""
    if spec.scheduler_memory_bytes or not spec.memory_bytes:
        return spec.scheduler_memory_bytes
    return min(max(spec.memory_bytes, LEAST_BYTES), MOST_BYTES)
