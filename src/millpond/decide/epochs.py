"""Which records of a dataset are valid when several servers have owned the lake in turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Numbered:
    """A record by its key: its place in the history, and the epoch of the owner that wrote it."""

    number: int
    epoch: int
    key: str


@dataclass(frozen=True, slots=True)
class InForce:
    """Records in the order of their numbers, and those that a later owner's records replace."""

    kept: Sequence[Numbered]
    ignored: Sequence[Numbered]


def in_force(found: Iterable[Numbered]) -> InForce:
    """Keep a record unless a later owner wrote one of the same or a lower number.

    An owner continues the history it read when it took over: whatever an earlier one adds after that is not part of it.
    """
    kept: list[Numbered] = []
    ignored: list[Numbered] = []
    newest = 0
    for record in sorted(found, key=lambda one: (one.number, -one.epoch)):
        if record.epoch < newest or (kept and kept[-1].number == record.number):
            ignored.append(record)
        else:
            kept.append(record)
            newest = record.epoch
    return InForce(kept, ignored)
