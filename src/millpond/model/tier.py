"""Tiers: classes of service of volumes, with the throughput that each has and its price."""

from __future__ import annotations

from dataclasses import dataclass

STANDARD = "standard"


@dataclass(frozen=True, slots=True)
class Tier:
    """`throughput` and `price` are relative to the standard tier. `bytes_per_second` is what a volume of it has in all;
    None: so many times what the standard one has, and without limit where that has none."""

    name: str
    throughput: float = 1.0
    price: float = 1.0
    bytes_per_second: int | None = None


# There from the beginning, without a limit until an administrator sets one.
BUILT_IN = (Tier(STANDARD), Tier("premium", throughput=4.0), Tier("ultra", throughput=8.0))


@dataclass(frozen=True, slots=True)
class TierEnforced:
    """What keeps a volume to its tier: `blkio`, `io.max`, `plugin` or `none`, and the limit in force.

    `problem` is a sentence for people: why nothing does, or not yet.
    """

    by: str
    bytes_per_second: int | None = None
    problem: str | None = None
