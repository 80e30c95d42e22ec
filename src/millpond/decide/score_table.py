"""The score of every place as people read it: in `mill why` and `mill submit --dry-run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from millpond.decide.score import ScoredPlace, Scores
from millpond.model.quantity import format_seconds


@dataclass(frozen=True, slots=True)
class PlaceScore:
    """What running a job at one place costs, in the currency of prices; None for what nobody can tell."""

    place: str
    site: str
    template: str | None
    wait_seconds: float | None
    fill_seconds: float
    missing_bytes: int
    wait_cost: float | None
    fill_cost: float
    compute_cost: float
    egress_cost: float
    score: float | None
    # Where the job goes.
    chosen: bool = False
    # Why it is not used now.
    note: str | None = None


def score_table(
    table: Scores, sites: Mapping[str, str], chosen: tuple[str | None, str] | None = None
) -> list[PlaceScore]:  # fmt: skip
    """The best first. `sites` by zone; `chosen`: template and zone that were taken; None: the table's target."""
    target = table.target.offer if table.target else None
    where = chosen or ((target.template, target.zone) if target else None)
    return [_shown(row, sites, is_chosen=_is_at(row, where)) for row in table.rows]


def _is_at(row: ScoredPlace, where: tuple[str | None, str] | None) -> bool:
    return where is not None and row.offer.zone == where[1] and where[0] in (None, row.offer.template)


def _shown(row: ScoredPlace, sites: Mapping[str, str], *, is_chosen: bool) -> PlaceScore:
    offer = row.offer
    return PlaceScore(
        place=offer.zone,
        site=sites.get(offer.zone, ""),
        template=offer.template,
        wait_seconds=None if offer.wait is None else offer.wait + offer.queue,
        fill_seconds=offer.fill.seconds,
        missing_bytes=offer.fill.bytes,
        wait_cost=row.wait_cost if offer.wait is not None and isfinite(row.wait_cost) else None,
        fill_cost=row.fill_cost,
        compute_cost=offer.compute_price,
        egress_cost=offer.fill.price,
        score=row.total if isfinite(row.total) else None,
        chosen=is_chosen,
        note=_note(row),
    )


def _note(row: ScoredPlace) -> str | None:
    if row.offer.blocked is not None:
        return row.offer.blocked[1]
    if row.opens_in > 0:
        return f"in {format_seconds(row.opens_in)}, if the templates before it have no room"
    return None
