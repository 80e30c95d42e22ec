"""Carrying out a plan: jobs are preempted and nominated, reservations kept, jobs placed with their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from logging import getLogger
from typing import Any

from sqlalchemy import Connection

from millpond.db import scheduling
from millpond.db.batches import batches
from millpond.db.caches import CachedView
from millpond.decide.placed_words import placed_words
from millpond.decide.scheduling.bursts import Burst
from millpond.decide.scheduling.plan import Plan, Start
from millpond.decide.scheduling.snapshot import Reservation, Seat
from millpond.errors import MillError, NotFound
from millpond.model.job import Job, JobState, RankPlace
from millpond.services.caches.access import announce
from millpond.services.caches.admission import differences
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes, job_data, nominations, placements, snapshot, waiting
from millpond.services.jobs.environments import Environments
from millpond.services.jobs.free_room import FreeRoom
from millpond.services.jobs.loaded import Block, Loaded
from millpond.services.jobs.placements import Chosen
from millpond.services.jobs.plan_input import PlanInput

logger = getLogger(__name__)

# Starts that are written together.
_AT_ONCE = 50
# An expected start that moved by less is not written again.
_SAME_SECONDS = 30.0


@dataclass
class Outcome:
    """`refused`: jobs whose data cannot be brought near, by job and zone. `is_stale`: another server was faster."""

    refused: dict[tuple[str, str], Block] = field(default_factory=dict)
    is_stale: bool = False
    preempted: int = 0


def apply_plan(
    deps: Deps, loaded: Loaded, found: PlanInput, burst: Burst, packages: Environments, now: datetime
) -> Outcome:  # fmt: skip
    """Do what the plan says, as far as it still holds."""
    applying = _Applying(deps, loaded, packages, now, found, burst)
    applying.decide(burst.plan)
    now_free = [start for start in burst.plan.starts if not start.victims]
    for batch in batches(now_free, _AT_ONCE):
        applying.start(batch)
    applying.finish()
    return applying.outcome


def start_nominated(deps: Deps, loaded: Loaded, packages: Environments, now: datetime) -> bool:
    """Place nominated jobs whose victims have ended; True if anything changed: then the snapshot is out of date.

    One whose nodes are gone or closed, or whose room others have taken, is queued as before.
    """
    still_ending = {row.id for row in loaded.running if row.stop_requested_at is not None}
    ready = [row for row in loaded.nominated if not still_ending & set(row.victims) or not _may_start(loaded, row)]
    if not ready:
        return False
    applying = _Applying(deps, loaded, packages, now)
    applying.start_nominated(
        [_nominated(loaded, row) for row in ready if _may_start(loaded, row)], [r.id for r in ready]
    )
    applying.finish()
    return True


class _Applying:
    """One plan while it is carried out. After the first step that finds itself out of date, nothing more is done."""

    def __init__(
        self,
        deps: Deps,
        loaded: Loaded,
        packages: Environments,
        now: datetime,
        found: PlanInput | None = None,
        burst: Burst | None = None,
    ) -> None:
        self._deps, self._loaded, self._packages, self._now = deps, loaded, packages, now
        self._found, self._burst = found, burst
        self._number = loaded.number
        self._by_written = {node.written: node for node in loaded.world.nodes.values()}
        self._ending = nominations.ending(loaded)
        self._changed: list[Job] = []
        self._gone: dict[str, str] = {}
        self.outcome = Outcome()

    def decide(self, plan: Plan) -> None:
        """Preempt, nominate, reserve."""
        nominated = [start for start in plan.starts if start.victims]
        kept = _kept(self._loaded.reservations, plan.reservations)
        if not plan.preemptions and not nominated and set(kept) == set(self._loaded.reservations):
            return
        with self._deps.db.write() as tx:
            if not self._is_next(tx):
                return
            preempted = nominations.preempt(tx, plan.preemptions, self._now)
            self.outcome.preempted += len(preempted)
            self._changed += preempted
            for start in nominated:
                nominations.nominate(tx, self._chosen(start), start.victims, self._now)
            scheduling.keep_reservations(tx, self._loaded.reservations, kept)

    def start(self, starts: Sequence[Start]) -> None:
        """Together: a transaction for each would be most of what five hundred short jobs cost."""
        chosen = [(self._chosen(start), nominations.in_the_way(start, self._ending)) for start in starts]
        self._prepare([one for one, _ in chosen])
        self._write(chosen, nominated=())

    def start_nominated(self, chosen: Sequence[Chosen], ended: Sequence[str]) -> None:
        """`ended` are nominations that are over in any case."""
        self._prepare(chosen)
        self._write([(one, []) for one in chosen], nominated=ended)

    def finish(self) -> None:
        """After the transactions: end what can never run, tell everybody."""
        waiting.fail(self._deps, self._gone, self._now)
        self._deps.measures.placed(sum(job.status.state is JobState.PLACED for job in self._changed))
        job_changes.announce(self._deps, self._changed)

    def _prepare(self, chosen: Sequence[Chosen]) -> None:
        for one in chosen:
            spec = self._loaded.specs[self._class_of(one.job_id)]
            differences.prepare(self._deps, snapshot.commits_of_spec(spec))

    def _write(self, chosen: Sequence[tuple[Chosen, Sequence[str]]], nominated: Sequence[str]) -> None:
        if self.outcome.is_stale:
            return
        found: list[Sequence[CachedView]] = []
        with self._deps.db.write() as tx:
            if not self._is_next(tx):
                return
            free = FreeRoom(tx, {one.compute_id for one, _ in chosen}, self._now)
            for one, in_the_way in chosen:
                found.append(self._start(tx, one, in_the_way, free))
            scheduling.end_nominations(tx, nominated)
        for views in found:
            announce(self._deps, views)

    def _start(
        self, tx: Connection, chosen: Chosen, in_the_way: Sequence[str], free: FreeRoom
    ) -> Sequence[CachedView]:  # fmt: skip
        """Place one among others: an error keeps this one back, and nothing of it is left."""
        world = self._loaded.world
        compute = world.computes[chosen.compute_id]
        build = self._packages.builds.get((chosen.job_id, compute.id))
        near = world.volumes.get(compute.id, ())
        try:
            with tx.begin_nested():
                job, found = placements.start(self._deps, tx, chosen, compute, near, build, free, self._now)
        except NotFound as error:
            self._gone[chosen.job_id] = f"Its data is gone: {error.message}"
        except job_data.WAITS as error:
            self._refuse(chosen, error)
        else:
            if job is None and in_the_way:
                nominations.nominate(tx, chosen, in_the_way, self._now)
            self._changed += [job] if job else []
            logger.info("job_placed job=%s node=%s started=%s", chosen.job_id, chosen.node, job is not None)
            return found
        return ()

    def _refuse(self, chosen: Chosen, error: MillError) -> None:
        zone = self._loaded.world.zones[chosen.compute_id].name
        self.outcome.refused[chosen.job_id, zone] = Block("data-space", job_data.why_waiting(error))

    def _is_next(self, tx: Connection) -> bool:
        if self.outcome.is_stale or not scheduling.next_plan_number(tx, self._number):
            self.outcome.is_stale = True
            return False
        self._number += 1
        return True

    def _chosen(self, start: Start) -> Chosen:
        node = self._by_written[start.seats[0].node]
        places = tuple(self._place(seat) for seat in start.seats)
        chosen = _chosen(self._loaded, start.job, node.compute_id, places, start.rule)
        if self._found is None or self._burst is None:
            return chosen
        template = self._found.template_of(self._burst, start.job)
        zone = self._loaded.world.zones[node.compute_id].name
        scores = self._found.scored.shown(self._loaded.rows[start.job], (template, zone))
        return replace(chosen, template=template, scores=tuple(scores))

    def _place(self, seat: Seat) -> RankPlace:
        return RankPlace(self._by_written[seat.node].name, seat.gpu_ids)

    def _class_of(self, job_id: str) -> str:
        rows = self._loaded.rows
        return str(rows[job_id].class_key)


def _chosen(
    loaded: Loaded, job_id: str, compute_id: str, places: tuple[RankPlace, ...], rule: str
) -> Chosen:  # fmt: skip
    row, world = loaded.rows[job_id], loaded.world
    spec = loaded.specs[row.class_key]
    job = snapshot.queued_job(
        job_id, spec, snapshot.commits_of_spec(spec), world.sizes, project_id=row.project_id, project=row.project
    )
    words = placed_words(job, world.nodes[compute_id, places[0].node], world.zones[compute_id].near, places)
    return Chosen(job_id, compute_id, places, rule, words)


def _nominated(loaded: Loaded, row: Any) -> Chosen:
    return _chosen(loaded, row.id, row.compute_id, scheduling.rank_places(row.places), row.rule)


def _may_start(loaded: Loaded, row: Any) -> bool:
    """True while the job waits and its nodes take jobs."""
    if row.state != JobState.QUEUED.value:
        return False
    nodes = [loaded.world.nodes.get((row.compute_id, place["node"])) for place in row.places]
    return all(node is not None and node.is_open for node in nodes)


def _kept(before: Sequence[Reservation], after: Sequence[Reservation]) -> list[Reservation]:
    """The plan's reservations; one that is as before but for seconds stays as it was written."""
    known: Mapping[str, Reservation] = {one.job: one for one in before}
    return [old if (old := known.get(one.job)) is not None and _is_same(old, one) else one for one in after]


def _is_same(old: Reservation, new: Reservation) -> bool:
    if (old.nodes, old.claim) != (new.nodes, new.claim):
        return False
    if old.expected is None or new.expected is None:
        return old.expected is new.expected
    return abs(old.expected - new.expected) < _SAME_SECONDS
