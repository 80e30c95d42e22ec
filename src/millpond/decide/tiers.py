"""The throughput that a volume has by its tier."""

from __future__ import annotations

from collections.abc import Mapping

from millpond.model.tier import STANDARD, Tier
from millpond.model.volume import Volume


def rate_of(volume: Volume, tiers: Mapping[str, Tier]) -> int | None:
    """In bytes per second; None: without limit.

    A tier with a rate of its own has that. Any other has so many times that of the standard tier as the volume's
    throughput says.
    """
    own = tiers.get(volume.tier)
    if own is not None and own.bytes_per_second is not None:
        return own.bytes_per_second
    standard = tiers[STANDARD].bytes_per_second
    return None if standard is None else max(1, round(standard * volume.tier_throughput))
