"""Which parameters, metrics and tags runs have: what columns and filters can be made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunKey:
    """`differs`: the runs have more than one value. `values` only of tags, a few of them."""

    key: str
    runs: int
    differs: bool = False
    values: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RunKeys:
    """Of the newest `runs` runs of a list, each by name."""

    runs: int
    params: Sequence[RunKey]
    metrics: Sequence[RunKey]
    tags: Sequence[RunKey]
    experiments: Sequence[str]
    users: Sequence[str]
