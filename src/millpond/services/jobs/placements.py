"""Placements: created with a token, and withdrawn once they have certainly expired."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from logging import getLogger

from sqlalchemy import Connection

from millpond.db import jobs, placements, sites, templates, tokens
from millpond.db.caches import CachedView
from millpond.db.placements import Renewal
from millpond.decide import job_life
from millpond.decide.computes import WHOLE
from millpond.decide.score_table import PlaceScore
from millpond.decide.templates import filled, unfilled
from millpond.model.compute import Compute
from millpond.model.ids import new_id
from millpond.model.job import Ending, Job, JobState, Placement, PlacementState, RankPlace
from millpond.model.people import Token, TokenKind
from millpond.model.quantity import format_seconds
from millpond.model.volume import Volume
from millpond.services.caches import uses as cache_uses
from millpond.services.deps import Deps
from millpond.services.jobs import job_changes, job_data, snapshot
from millpond.services.jobs.free_room import FreeRoom
from millpond.services.people.tokens import PREFIX, hash_secret
from millpond.services.workspaces import in_jobs

logger = getLogger(__name__)

# What a machine that was suspended, or whose clock runs slow, may be late by: a part of the validity, within bounds.
_MARGIN_PART = 0.2
_MARGIN_BOUNDS = (10.0, 120.0)
_TOKENS_KEPT = timedelta(days=7)
# Of services that go on while nobody hears of them: longer than any machine runs, and an Integer of every database.
FOREVER_SECONDS = 1_000_000_000


def secret_of(server_secret: bytes, placement_id: str) -> str:
    """The job's token. Derived, so that it can be sent again and no secret is stored."""
    digest = hmac.digest(server_secret, f"placement:{placement_id}".encode(), hashlib.sha256)
    return PREFIX + base64.b32encode(digest).decode().rstrip("=").lower()


@dataclass(frozen=True, slots=True)
class Chosen:
    """Where a plan puts a job: by process the node and GPUs, on one compute; under which rule, and why there."""

    job_id: str
    compute_id: str
    places: tuple[RankPlace, ...]
    rule: str
    reason: str
    # The template it runs on, of a job that names a queue.
    template: str | None = None
    # What each place would have cost.
    scores: tuple[PlaceScore, ...] = ()

    @property
    def node(self) -> str:
        return self.places[0].node


def start(
    deps: Deps,
    tx: Connection,
    chosen: Chosen,
    compute: Compute,
    volumes: Sequence[Volume],
    build: Job | None,
    free: FreeRoom,
    now: datetime,
) -> tuple[Job | None, Sequence[CachedView]]:
    """Place the job and lease its data; None if it is no longer queued or does not fit. Raises as `job_data.bring`.

    `build` is where its packages come from, if it wants any.
    """
    job = jobs.lock(tx, chosen.job_id)
    if job is None or job.status.state is not JobState.QUEUED:
        return None, ()
    if not in_jobs.may_begin(tx, job):
        return None, ()
    before, job = job, on_template(tx, job, chosen.template)
    if not free.has(chosen.compute_id, chosen.places, job):
        return None, ()
    agent_id = free.agent_of(chosen.compute_id, chosen.node)
    assert agent_id is not None, "room is only on nodes that have an agent"
    job = job_life.take_environment(job, build) if build else job
    found = job_data.bring(tx, job, volumes, now)
    cache_uses.count_placed(tx, job, found, now)
    placement = _new_placement(chosen, job, agent_id, _valid_seconds(deps, tx, job, compute), now)
    placements.insert(tx, placement)
    tokens.insert(tx, _new_token(placement, now), hash=hash_secret(secret_of(deps.secret, placement.id)))
    after = job_life.place(
        job, placement.id, compute=compute.name, node=chosen.node, reasons=(chosen.reason,), now=now, rule=chosen.rule,
        gpu_share=snapshot.gpu_fractions(compute) if job.spec.gpu_hundredths % WHOLE else None,
    )  # fmt: skip
    after = job_life.fill(after, now) if job_data.are_ready(found) else after
    job_changes.save(tx, before, after, now)
    free.take(chosen.compute_id, chosen.places, job)
    return after, found


def on_template(tx: Connection, job: Job, name: str | None) -> Job:
    """The job with what this template fills in, in place of the one it was planned with before."""
    template = templates.find(tx, name) if name else None
    if template is None:
        return job
    spec, use = filled(unfilled(job.spec, job.status.template), template)
    return replace(job.changed(template=use), spec=spec)


def expire(deps: Deps, now: datetime) -> None:
    """Withdraw expired placements: their keepers have ended the command by their own clock.

    Measured by this server's monotonic clock: wall clocks may be wrong, and a job must not run twice.
    """
    with deps.db.read() as tx:
        living = placements.renewals(tx)
    silent = deps.unchanged.seconds("renewal", {one.id: one.renewed_at for one in living}, deps.clock.elapsed())
    over = [one for one in living if silent[one.id] > runs_out_after(one.valid_seconds, one.grace_seconds)]
    changed: list[Job] = []
    for placement in over:
        with deps.db.write() as tx:
            after = _take_back(tx, placement, now)
        if after is not None:
            changed.append(after)
            logger.warning("placement_ran_out job=%s placement=%s", placement.job_id, placement.id)
    job_changes.announce(deps, changed)


def leave_alone(tx: Connection, left: Iterable[Placement], why: Callable[[str], str], now: datetime) -> list[Job]:
    """Apply silence of an agent to the jobs of these placements; return those that changed.

    `why` receives the time after which each has certainly expired. A service that never does is placed again at once: a
    second copy of it does no harm. Sorted, so that two servers cannot deadlock.
    """
    changed: list[Job] = []
    for placement in sorted(left, key=lambda one: one.job_id):
        job = jobs.lock(tx, placement.job_id)
        if job is None or job.status.placement_id != placement.id:
            continue
        if is_forever(placement):
            changed.append(_replaced(tx, job, placement, now))
            continue
        over_after = runs_out_after(placement.valid_seconds, placement.grace_seconds)
        after = job_life.leave_alone(job, why(format_seconds(over_after)))
        changed += [after] if job_changes.save(tx, job, after, now) else []
    return changed


def _replaced(tx: Connection, job: Job, placement: Placement, now: datetime) -> Job:
    """The job without a placement that nobody will hear of again, and that never runs out."""
    lost = f"Compute {job.status.compute} no longer knows this service, or its credential was revoked"
    placements.note_end(tx, placement.id, ending=Ending.LOST, problem=f"{lost}.", now=now)
    after = job_life.run_out(job, lost, now)
    job_changes.save(tx, job, after, now)
    return after


def forget_tokens(deps: Deps, now: datetime) -> int:
    """Remove tokens of placements that ended long ago; until then their use is refused with the reason."""
    with deps.db.write() as tx:
        return placements.forget_tokens(tx, now - _TOKENS_KEPT)


def _new_placement(chosen: Chosen, job: Job, agent_id: str, valid_seconds: int, now: datetime) -> Placement:
    return Placement(
        id=new_id(16),
        job_id=chosen.job_id,
        compute_id=chosen.compute_id,
        agent_id=agent_id,
        node=chosen.node,
        state=PlacementState.PLACED,
        valid_seconds=valid_seconds,
        grace_seconds=job.spec.grace_seconds,
        gpu_indices=chosen.places[0].gpu_indices,
        created_at=now,
        renewed_at=now,
        ended_at=None,
        number=job.status.attempt + 1,
        places=chosen.places if job.spec.processes else (),
        scores=tuple(asdict(one) for one in chosen.scores),
    )


def _valid_seconds(deps: Deps, tx: Connection, job: Job, compute: Compute) -> int:
    if job.spec.service and job.spec.service.offline:
        return FOREVER_SECONDS
    return sites.placement_seconds(tx, compute.site_id) or deps.settings.placement_seconds


def is_forever(placement: Placement) -> bool:
    """True if it never runs out: a second copy of what it runs does no harm."""
    return placement.valid_seconds >= FOREVER_SECONDS


def _new_token(placement: Placement, now: datetime) -> Token:
    return Token(
        id=new_id(),
        kind=TokenKind.PLACEMENT,
        name=f"job {placement.job_id}",
        user_id=None,
        agent_id=None,
        placement_id=placement.id,
        created_at=now,
        expires_at=None,
        last_used_at=None,
    )


def runs_out_after(valid_seconds: int, grace_seconds: int) -> float:
    """Time after the last renewal when the keeper has certainly ended the job, by SIGKILL if necessary."""
    least, most = _MARGIN_BOUNDS
    return valid_seconds + grace_seconds + min(max(valid_seconds * _MARGIN_PART, least), most)


def _take_back(tx: Connection, placement: Renewal, now: datetime) -> Job | None:
    """The job without this placement; None if the agent has reported in between."""
    job = jobs.lock(tx, placement.job_id)
    current = placements.lock(tx, placement.id)
    if current is None or current.ended_at is not None or current.renewed_at != placement.renewed_at:
        return None
    if job is None or job.status.placement_id != placement.id or job.status.state.is_finished:
        placements.end(tx, [placement.id], now)
        return None
    silent = f"Compute {job.status.compute} has been silent since {current.renewed_at:%H:%M:%S} UTC"
    placements.note_end(tx, placement.id, ending=Ending.EXPIRED, problem=f"{silent}.", now=now)
    after = job_life.run_out(job, silent, now)
    job_changes.save(tx, job, after, now)
    return after
