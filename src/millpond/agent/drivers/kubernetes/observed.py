"""What the driver knows of one placement between two looks at the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.agent.drivers.kubernetes import gang
from millpond.agent.spec import Spec


@dataclass(frozen=True, slots=True)
class FoundPods:
    """What the last look saw of one placement, by the monotonic clock."""

    at: float
    pods: tuple[Mapping[str, Any], ...] = ()
    events: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True)
class WatchedPods:
    """A placement that is not forgotten. `handed_at`: when its Job was last made or seen, by the monotonic clock."""

    directory: Path
    spec: Spec
    handed_at: float | None = None
    found: FoundPods | None = None
    # Whether its Job was seen, and then was gone: somebody deleted it.
    job_seen: bool = False
    job_deleted: bool = False
    # When the keeper's last word was first seen, by the monotonic clock.
    said_at: float | None = None
    # Since when all its pods are over, or gone, without a word of the keeper.
    silent_since: float | None = None
    # Of a distributed job: since when some of its ranks wait for the others, and until when none is tried.
    gathering_since: float | None = None
    paused_until: float | None = None
    why_withdrawn: str = ""


def unbegun(one: WatchedPods, pods: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The pod that it waits for: of a distributed job, one of a rank that has not come."""
    if one.spec.ranks:
        pods = gang.of_ranks(pods, gang.missing(one.directory))
    return pods[-1] if pods else None
