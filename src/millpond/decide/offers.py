"""What each zone offers a job, on each template it may use: the rows that the score compares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from millpond.decide.computes import QueuedJob
from millpond.decide.places import Zone, size_of, why_zone_unable
from millpond.decide.score import NO_FILL, Fill, PlaceOffer, run_price
from millpond.decide.zone_waits import ZoneWaits

AWAY = "away"
# By zone: commits that are being brought there though the snapshot does not know it yet.
Promised = Mapping[str, AbstractSet[str]]


@dataclass(frozen=True, slots=True)
class TemplateCandidate:
    """A job as one of its templates makes it."""

    job: QueuedJob
    requires: frozenset[str]
    order: int = 0
    template: str | None = None
    price_per_hour: float = 0.0


class PlaceOffers:
    """The zones of one moment. `queues`: what the queue of an engine adds to the wait, in seconds by zone."""

    def __init__(self, zones: Sequence[Zone], waits: ZoneWaits, queues: Mapping[str, float]) -> None:
        self._zones, self._waits, self._queues = zones, waits, queues

    def of(self, candidate: TemplateCandidate, promised: Promised | None = None) -> list[PlaceOffer]:
        """One for each zone that could ever run it."""
        size = size_of(candidate.job.spec)
        price = run_price(candidate.price_per_hour, candidate.job.spec.timeout_seconds or None)
        found = []
        for zone in self._zones:
            if why_zone_unable(candidate.job, zone) is not None:
                continue
            if not self._waits.could_run(zone.name, size, candidate.requires):
                continue
            is_open = self._waits.could_run(zone.name, size, candidate.requires, now=True)
            found.append(
                PlaceOffer(
                    zone.name,
                    candidate.order,
                    candidate.template,
                    self._waits.wait(zone.name, size, candidate.requires),
                    data_fill(candidate.job, zone, (promised or {}).get(zone.name, frozenset())),
                    price,
                    None if is_open else (AWAY, "takes no new jobs now"),
                    self._queues.get(zone.name, 0.0),
                )
            )
        return found


def data_fill(job: QueuedJob, zone: Zone, promised: AbstractSet[str] = frozenset()) -> Fill:
    """All that is to be fetched before the job can begin there. Commits are fetched at once, over the same link."""
    fills = zone.near.fills
    missing = (need.commit_id for need in job.needs if need.commit_id in fills and need.commit_id not in promised)
    return sum((fills[commit] for commit in missing), NO_FILL)


def is_begun(job: QueuedJob, zone: Zone) -> bool:
    """True if all of its data is there, or on its way."""
    return all(need.commit_id in zone.near.cached for need in job.needs)
