"""Decides in which order somebody at a site tries the stores that hold a commit: the lake, its endpoints, replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_HOUR = 3600.0
_GB = 10**9


@dataclass(frozen=True, slots=True)
class StoreWay:
    """One store that holds all of a commit. Rates are measured, or those of the link."""

    id: str
    name: str
    # Somebody has said that this site reads from there.
    is_chosen: bool = False
    # A copy of the lake, not the lake itself.
    is_copy: bool = False
    # Why an agent of the site could not read from there a moment ago.
    problem: str | None = None
    bytes_per_second: float | None = None
    price_per_gb: float = 0.0


def order_stores(own: StoreWay, others: Sequence[StoreWay], *, fill_price: float = 1.0) -> list[StoreWay]:
    """All of them, the best first.

    What was chosen for the site comes before the lake's `own` endpoint; what was not, only if it is known to be
    cheaper in time and money. A store with a problem comes last, and is tried all the same.
    """

    def rank(way: StoreWay) -> tuple[bool, int, float]:
        if way.is_chosen:  # a replica before an endpoint: it is nearer than anything of the lake
            return way.problem is not None, -1 if way.is_copy else 0, 0.0
        if way is own or _is_cheaper(way, own, fill_price):
            return way.problem is not None, 1, _cost(way, fill_price) or 0.0
        return way.problem is not None, 2, 0.0

    return sorted((*others, own), key=rank)


def _is_cheaper(way: StoreWay, own: StoreWay, fill_price: float) -> bool:
    cost, known = _cost(way, fill_price), _cost(own, fill_price)
    return cost is not None and known is not None and cost < known


def _cost(way: StoreWay, fill_price: float) -> float | None:
    """Of a gigabyte, in time and money; None if the speed is not known."""
    return way.price_per_gb + fill_price * _GB / way.bytes_per_second / _HOUR if way.bytes_per_second else None
