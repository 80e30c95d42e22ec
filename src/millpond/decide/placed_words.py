"""Why a job was placed where it is, in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from millpond.decide.bandwidth import expected_seconds
from millpond.decide.computes import NearView, NodeView, QueuedJob
from millpond.decide.places import missing_bytes
from millpond.model.job import RankPlace
from millpond.model.quantity import format_bytes, format_seconds


def placed_words(job: QueuedJob, node: NodeView, near: NearView, places: Sequence[RankPlace]) -> str:
    """`node` is that of its first process; `places` of all of them."""
    words = f"Placed on {node.written}{_data(job, near)}."
    if not job.spec.processes:
        return words
    counts = Counter(place.node for place in places)
    spread = ": " + ", ".join(f"{count} on {name}" for name, count in counts.items()) if len(counts) > 1 else ""
    return f"{words.removesuffix('.')} ({job.spec.processes} processes{spread})."


def _data(job: QueuedJob, near: NearView) -> str:
    if all(need.commit_id == job.spec.code_commit for need in job.needs):
        return ""
    missing = missing_bytes(job, near)
    if not missing:
        return ": its data is cached there or on the way"
    seconds = expected_seconds(missing, near.bytes_per_second)
    about = f", about {format_seconds(seconds)} at the measured bandwidth" if seconds is not None else ""
    return f": {format_bytes(missing)} of its data must be fetched{about}"
