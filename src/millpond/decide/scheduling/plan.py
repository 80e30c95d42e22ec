"""A plan: what starts where, who is preempted for whom, which nodes are reserved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from millpond.decide.scheduling.snapshot import Reservation, Seat


@dataclass(frozen=True, slots=True)
class Start:
    """A job and its seats. With victims it is nominated: it starts when they have ended."""

    job: str
    seats: tuple[Seat, ...]
    rule: str
    victims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preemption:
    """A job that has to stop, for which other, under which rule."""

    job: str
    taker: str
    rule: str


@dataclass(frozen=True, slots=True)
class Standing:
    """A project in one pool, after the plan: hundredths of a GPU."""

    project: str
    pool: str
    quota: int
    weight: int
    share: Fraction
    allocated: int
    demand: int


@dataclass(frozen=True, slots=True)
class Plan:
    starts: tuple[Start, ...] = ()
    preemptions: tuple[Preemption, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    standings: tuple[Standing, ...] = ()
    # Jobs that stay pending: the rule of each.
    waits: Mapping[str, str] = field(default_factory=dict)

    @property
    def changes_nothing(self) -> bool:
        return not self.starts and not self.preemptions
