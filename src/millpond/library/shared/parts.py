"""Which item goes to which part: stratified, groups together. Depends on names and the seed alone, not on order."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

REST = "train"


@dataclass(frozen=True)
class Item:
    name: str
    stratum: str
    group: str


def split(items: Iterable[Item], sizes: Mapping[str, float], *, seed: int) -> dict[str, list[str]]:
    """Names by part. `sizes`: the share of each part; what is left is `train`.

    Every group goes whole to the part that lacks most of what it holds, large groups first. Without groups each stratum
    is divided exactly, to the nearest item.
    """
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.group].append(item)
    lacking = _wanted(Counter(item.stratum for members in groups.values() for item in members), sizes)
    chosen: dict[str, list[str]] = {part: [] for part in lacking}
    for key in sorted(groups, key=lambda key: (-len(groups[key]), _shuffled(seed, key))):
        held = Counter(item.stratum for item in groups[key])
        part = max(lacking, key=lambda part: sum(min(count, lacking[part][name]) for name, count in held.items()))
        lacking[part].subtract(held)
        chosen[part] += [item.name for item in groups[key]]
    return {part: sorted(names) for part, names in chosen.items() if names}


def _wanted(strata: Counter[str], sizes: Mapping[str, float]) -> dict[str, Counter[str]]:
    """How many items of each stratum every part should get."""
    found: dict[str, Counter[str]] = {part: Counter() for part in (REST, *(p for p, size in sizes.items() if size > 0))}
    for stratum, count in strata.items():
        left = count
        for part in found:
            if part != REST:
                # At least one for training, whatever the shares are.
                found[part][stratum] = min(round(count * sizes[part]), left - 1)
                left -= found[part][stratum]
        found[REST][stratum] = left
    return found


def _shuffled(seed: int, key: str) -> bytes:
    return hashlib.blake2b(f"{seed}\0{key}".encode("utf-8", "surrogateescape"), digest_size=16).digest()
