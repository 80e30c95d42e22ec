"""Shares: what each project may expect of a pool, and which of its running jobs are within its quota."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from millpond.decide.scheduling.snapshot import WHOLE, Running


@dataclass(frozen=True, slots=True)
class Claimant:
    """One project of a pool, in hundredths of a GPU. `demand`: running, and pending that could run there now."""

    name: str
    quota: int
    weight: int
    demand: int


def default_weight(quota: int) -> int:
    return max(quota, WHOLE)


def divide_shares(capacity: int, claimants: Iterable[Claimant]) -> Mapping[str, Fraction]:
    """min(demand, quota) for each, then the spare capacity by weight to those who want more, never beyond demand."""
    known = sorted(claimants, key=lambda one: one.name)
    shares = {one.name: Fraction(min(one.demand, one.quota)) for one in known}
    spare = Fraction(max(0, capacity)) - sum(shares.values())
    # Whoever is satisfied by the least per weight is satisfied first; the others divide what that leaves.
    hungry = sorted(
        (one for one in known if one.demand > one.quota and one.weight > 0),
        key=lambda one: (Fraction(one.demand - one.quota, one.weight), one.name),
    )
    weights = sum(one.weight for one in hungry)
    for one in hungry:
        if spare <= 0:
            break
        extra = min(spare * one.weight / weights, Fraction(one.demand - one.quota))
        shares[one.name] += extra
        spare -= extra
        weights -= one.weight
    return shares


def quota_order(running: Running) -> tuple[bool, int, float, str]:
    """Not preemptible first, then higher priority, then earlier first submission."""
    job = running.job
    return (job.preemptible, -job.priority, job.submitted, job.id)


def over_quota(running: Sequence[tuple[Running, int]], quota: int) -> set[str]:
    """The jobs that do not fit into the quota, each as a whole: ids. `running` is ordered by `quota_order`; the number
    is what a job holds of the pool."""
    left, over = quota, set()
    for one, held in running:
        if held <= left:
            left -= held
        else:
            over.add(one.job.id)
    return over
