"""What every place costs every queued job: which zones it may start in, where its data goes, and why it waits.

Jobs of one class that have waited about as long share one table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from millpond.decide.computes import QueuedJob
from millpond.decide.offers import PlaceOffers, Promised, TemplateCandidate
from millpond.decide.places import Zone, places_of, required, size_of
from millpond.decide.scheduling.snapshot import Place, Size
from millpond.decide.score import LOCALITY, TEMPLATE, PlaceOffer, ScoredPlace, Scores, score
from millpond.decide.score_table import PlaceScore, score_table
from millpond.decide.templates import TemplateChoice
from millpond.decide.zone_waits import ZoneWaits
from millpond.model.documents import from_document
from millpond.model.job_spec import JobSpec
from millpond.model.people import Project
from millpond.model.template import TemplateUse
from millpond.services.jobs import snapshot
from millpond.services.jobs.loaded import Block, Blocked, Loaded, written_template

# Tables are made anew for jobs that have waited so much longer, in seconds.
_STEP = 5.0
# Costs are whole numbers for the planner: so many to a unit of money.
_UNIT = 1_000_000


@dataclass(frozen=True, slots=True)
class StartWay:
    """How a job may start on one template: what it needs, and in which zones. `held`: why it may not start at all."""

    size: Size
    requires: frozenset[str]
    places: tuple[Place, ...] | None
    held: str | None = None
    template: str | None = None


class ScoredJobs:
    """The queued jobs of one moment."""

    def __init__(self, loaded: Loaded, waits: ZoneWaits, blocked: Blocked) -> None:
        self._loaded = loaded
        zones = {zone.name: zone for zone in loaded.world.zones.values()}
        self._zones = [zones[name] for name in sorted(zones)]
        self._offers = PlaceOffers(self._zones, waits, loaded.queues)
        self._blocks: dict[str, dict[str, Block]] = defaultdict(dict)
        for (job_id, zone), block in blocked.items():
            self._blocks[job_id][zone] = block
        self._alike = _alike(loaded.projects.values(), self._zones)
        self._plain: dict[tuple[int, str], StartWay | None] = {}
        self._of_class: dict[object, list[PlaceOffer]] = {}
        self._tables: dict[object, Scores] = {}
        self._ways: dict[object, list[StartWay]] = {}
        self._single: dict[tuple[str, str], tuple[TemplateChoice]] = {}

    def ways(self, row: Any) -> list[StartWay]:
        """How it may start now, on each template that it may use, in order; at least one."""
        plain = self._plain_way(row)
        if plain is not None:
            return [plain]
        if row.id in self._blocks:
            return self._find_ways(row)
        group = self._group(row)
        if group not in self._ways:
            self._ways[group] = self._find_ways(row)
        return self._ways[group]

    def table(self, row: Any, promised: Promised | None = None) -> Scores:
        """What each place costs it."""
        if promised or row.id in self._blocks:
            return self._score(row, self._all_offers(row, promised))
        group = self._group(row)
        if group not in self._tables:
            self._tables[group] = self._score(row, self._all_offers(row, None))
        return self._tables[group]

    def waiting_table(self, row: Any, promised: Promised | None = None) -> Scores:
        """The same after a plan that did not start it: where there seems to be room, there is none for this job."""
        table = self.table(row, promised)
        ready = {(one.offer.order, one.offer.zone) for found in table.starts for one in found}
        offers = (
            one.offer._replace(wait=None)
            if one.offer.wait == 0 and (one.offer.order, one.offer.zone) in ready
            else one.offer
            for one in table.rows
        )
        return self._score(row, offers)

    def choices(self, row: Any) -> Sequence[TemplateChoice]:
        """The ways to run it: one, unless it names a queue."""
        known = self._loaded.choices.get(row.id)
        if known:
            return known
        key = (row.class_key, written_template(row.template))
        if key not in self._single:
            use = from_document(TemplateUse, row.template) if row.template else None
            self._single[key] = (TemplateChoice(self._loaded.specs[row.class_key], use),)
        return self._single[key]

    def waited(self, row: Any) -> float:
        """Seconds since it could have started: since it was queued, last, or the jobs before it ended."""
        since: datetime = row.queued_at if row.requeued_at is None else max(row.queued_at, row.requeued_at)
        if row.id in self._loaded.ready_at:
            since = max(since, self._loaded.ready_at[row.id])
        return max(0.0, (self._loaded.now - since).total_seconds())

    def rule(self, row: Any) -> Block | None:
        """Why it does not start where there is room, though its turn may have come; None if nothing but room lacks."""
        if self._plain_way(row) is not None:
            return None
        table = self.table(row)
        if table.rule == TEMPLATE:
            return Block(TEMPLATE, self._template_words(row, table))
        if table.rule != LOCALITY or table.target is None:
            return None
        return Block(LOCALITY, _locality_words(table.target))

    def shown(self, row: Any, chosen: tuple[str | None, str] | None = None) -> list[PlaceScore]:
        """The table as people read it. `chosen`: template and zone that a plan took; None: where the job would go."""
        table = self.table(row) if chosen else self.waiting_table(row)
        computes = self._loaded.world.computes
        sites = {zone.name: computes[zone.node.compute_id].site for zone in self._zones}
        return score_table(table, sites, chosen)

    def queued(self, row: Any, spec: JobSpec) -> QueuedJob:
        project, commits = self._loaded.projects[row.project_id], snapshot.commits_of_spec(spec)
        sizes = self._loaded.world.sizes
        return snapshot.queued_job(row.id, spec, commits, sizes, project_id=project.id, project=project.name)

    def _plain_way(self, row: Any) -> StartWay | None:
        """Of a job that needs no data and has one template: every place that can run it costs the same."""
        if row.id in self._blocks or row.id in self._loaded.choices:
            return None
        key = (self._alike[row.project_id], row.class_key)
        if key not in self._plain:
            spec, project = self._loaded.specs[row.class_key], self._loaded.projects[row.project_id]
            job = self.queued(row, spec)
            places = None if job.needs else places_of(job, self._zones)
            self._plain[key] = None if job.needs else StartWay(size_of(spec), required(spec, project.shares), places)
        return self._plain[key]

    def _group(self, row: Any) -> object:
        """Equal for jobs that share a table: of one class, that have waited about as long."""
        found = self.choices(row)
        waited = min(self.waited(row), found[-1].opens_after + self._loaded.policy.patience)
        is_open = 1 if len(found) == 1 else sum(choice.opens_after <= waited for choice in found)
        return (*self._key(row), is_open, waited // _STEP)

    def _score(self, row: Any, offers: Iterable[PlaceOffer]) -> Scores:
        opens = tuple(float(choice.opens_after) for choice in self.choices(row))
        return score(offers, self._loaded.policy, waited=self.waited(row), opens=opens)

    def _find_ways(self, row: Any) -> list[StartWay]:
        table = self.table(row)
        found = [self._way(row, choice, table, order) for order, choice in enumerate(self.choices(row))]
        usable = found[: max(1, len(table.starts))]
        return [way for way in usable if way.held is None] or usable[:1]

    def _way(self, row: Any, choice: TemplateChoice, table: Scores, order: int) -> StartWay:
        shares = self._loaded.projects[row.project_id].shares
        starts = table.starts[order] if order < len(table.starts) else ()
        places = tuple(Place(one.offer.zone, round(one.static * _UNIT)) for one in starts)
        size, requires = size_of(choice.spec), required(choice.spec, shares)
        name = choice.use.name if choice.use else None
        if places:
            return StartWay(size, requires, places, None, name)
        own = [one for one in table.rows if one.offer.order == order]
        held = _held(own)
        return StartWay(size, requires, tuple(Place(one.offer.zone) for one in own), held, name)

    def _all_offers(self, row: Any, promised: Promised | None) -> Iterable[PlaceOffer]:
        blocks = self._blocks.get(row.id, {})
        for order, choice in enumerate(self.choices(row)):
            for offer in self._class_offers(row, choice, order, promised):
                block = blocks.get(offer.zone)
                yield offer if block is None else offer._replace(blocked=(block.rule, block.words))

    def _class_offers(
        self, row: Any, choice: TemplateChoice, order: int, promised: Promised | None
    ) -> list[PlaceOffer]:
        key = (self._key(row), order)
        if not promised and key in self._of_class:
            return self._of_class[key]
        shares = self._loaded.projects[row.project_id].shares
        use = choice.use
        found = self._offers.of(
            TemplateCandidate(
                self.queued(row, choice.spec), required(choice.spec, shares), order,
                use.name if use else None, use.price_per_hour if use else 0.0,
            ),
            promised,
        )  # fmt: skip
        if not promised:
            self._of_class[key] = found
        return found

    def _key(self, row: Any) -> tuple[int, str, str]:
        return (self._alike[row.project_id], row.class_key, written_template(row.template))

    def _template_words(self, row: Any, table: Scores) -> str:
        found = self.choices(row)
        opens = next(choice for choice in found if choice.opens_after > self.waited(row))
        first = [choice.use.name for choice in found if choice.opens_after <= self.waited(row) and choice.use]
        until = self._loaded.now.timestamp() + opens.opens_after - self.waited(row)
        at = self._loaded.now.fromtimestamp(round(until), self._loaded.now.tzinfo)
        name = opens.use.name if opens.use else ""
        return f"it waits for template {' or '.join(first)} until {at:%H:%M:%S} UTC, then for {name} as well."


def _alike(projects: Iterable[Project], zones: Sequence[Zone]) -> Mapping[str, int]:
    """A number for each project, the same for those whose jobs may run in the same places."""
    numbers: dict[object, int] = {}
    found: dict[str, int] = {}
    for project in projects:
        shares = project.shares
        affinity = (sorted(shares.train_affinity.items()), sorted(shares.interactive_affinity.items()))
        key = (str(affinity), tuple(zone.node.trust.accepts(project.id) for zone in zones))
        found[project.id] = numbers.setdefault(key, len(numbers))
    return found


def _held(own: Sequence[ScoredPlace]) -> str | None:
    """Why it starts nowhere on a template: its data is not there yet, or cannot be brought there."""
    if any(row.is_open for row in own):
        return LOCALITY
    rules = sorted({row.offer.blocked[0] for row in own if row.offer.blocked is not None} - {"away"})
    return rules[0] if rules else None


def _locality_words(target: ScoredPlace) -> str:
    if target.offer.fill.bytes:
        return f"its data is fetched to {target.offer.zone} before it takes GPUs there."
    return f"it waits for room at {target.offer.zone}, which costs less than the places that have room."
