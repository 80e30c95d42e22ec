"""Where the bytes of a fill came from, and how many came from there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple


class SourceKind(StrEnum):
    """What `SourceKey.id` names stands beside each."""

    LAKE = "lake"  # nothing
    REPLICA = "replica"  # a replica of the lake
    OUTSIDE = "outside"  # nothing: objects that a commit only refers to, wherever they lie
    MOUNT = "mount"  # a volume of another site that the filling agent has mounted
    PEER = "peer"  # a volume of another site whose agent sends
    VOLUME = "volume"  # nothing: commits and earlier attempts on the filled volume itself
    DISK = "disk"  # nothing: what jobs have just made on the agent's machine


# Sources whose bytes come over a network.
FAR = frozenset({SourceKind.LAKE, SourceKind.REPLICA, SourceKind.OUTSIDE, SourceKind.MOUNT, SourceKind.PEER})


class SourceKey(NamedTuple):
    kind: SourceKind
    id: str = ""


LAKE_KEY = SourceKey(SourceKind.LAKE)
OUTSIDE_KEY = SourceKey(SourceKind.OUTSIDE)
VOLUME_KEY = SourceKey(SourceKind.VOLUME)
DISK_KEY = SourceKey(SourceKind.DISK)


class Given(NamedTuple):
    """What one source gave, as it came from there: content of the lake may be compressed.

    Only what was held against its digest counts. `files` are those that it gave whole; of the lake, none is counted.
    """

    bytes: int = 0
    files: int = 0


def far_bytes(given: Mapping[SourceKey, Given]) -> int:
    """Bytes that came over a network."""
    return sum(one.bytes for key, one in given.items() if key.kind in FAR)


def of_kind(given: Mapping[SourceKey, Given], kinds: Iterable[SourceKind]) -> Given:
    """What all sources of these kinds gave together."""
    wanted = set(kinds)
    found = [one for key, one in given.items() if key.kind in wanted]
    return Given(sum(one.bytes for one in found), sum(one.files for one in found))
