"""What asking for a commit would bring, volume by volume: the same decisions, asked without doing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal

from sqlalchemy import Connection

from millpond.db import caches
from millpond.db.caches import CachedView, CommitSize
from millpond.decide.admission import Admit, Refuse
from millpond.decide.bandwidth import expected_seconds
from millpond.decide.stock import rooms, shares_of
from millpond.decide.volume_choice import obstacle
from millpond.model.cached_state import CachedState
from millpond.model.people import Actor
from millpond.model.volume import Volume
from millpond.services.caches.access import named_volume
from millpond.services.caches.admission import differences, volume_choice
from millpond.services.caches.admission.stock import stock_of
from millpond.services.caches.admission.volume_choice import Looked
from millpond.services.caches.explain.why import CacheStep
from millpond.services.datasets import reading
from millpond.services.deps import Deps
from millpond.services.people import access
from millpond.services.places.geography import rule_of

# What asking would bring: it is there, on its way, it fits, it fits once something is evicted, or it is refused.
Answer = Literal["there", "coming", "fits", "evicts", "refused"]


@dataclass(frozen=True, slots=True)
class CacheOffer:
    """What asking for a commit on this volume would bring now. Nothing is done, and nothing is promised."""

    volume: str
    site: str
    answer: Answer
    needed_bytes: int  # of the volume
    fetch_bytes: int  # from the lake
    seconds: float | None
    evicts: int  # cached commits that would go first, and those of them that one may know of
    evicted: Sequence[CacheStep]
    reasons: Sequence[str]
    blockers: Sequence[str]


def offers(
    deps: Deps, actor: Actor, written: str, *, project: str | None, volume: str | None, near: str | None
) -> list[CacheOffer]:
    """One for each volume, or for the one named; those that may take the commit first, the best of them first."""
    with deps.db.read() as tx:
        named = named_volume(tx, volume, near)
    _, commit = reading.find_commit(deps, actor, written, project=project)
    differences.prepare(deps, [commit.id])
    now = deps.clock.now()
    with deps.db.read() as tx:
        size = caches.size_of(tx, commit.id)
        if size is None:
            raise access.not_found("dataset", written)
        found = volume_choice.look_at_all(
            tx, size, near=near, rule=rule_of(deps.settings), now=now, sees=partial(access.sees, actor)
        )
        place = {one.id: number for number, one in enumerate(found.choice.ranked)}
        ordered = sorted(found.looked, key=lambda one: (place.get(one.volume.id, len(place)), one.volume.name))
        chosen = found.choice.best.id if found.choice.best and named is None else None
        return [
            _offer(tx, actor, one, size, now, reasons=found.choice.reasons if one.volume.id == chosen else ())
            for one in ordered
            if named is None or one.volume.id == named.id
        ]


def _offer(
    tx: Connection, actor: Actor, looked: Looked, size: CommitSize, now: datetime, *, reasons: Sequence[str]
) -> CacheOffer:
    candidate, answer = looked.candidate, looked.answer
    decision = answer.decision if answer else None
    going = decision.evict if isinstance(decision, Admit) else ()
    verdict = _answer(looked)
    fetches = verdict in ("fits", "evicts")
    return CacheOffer(
        volume=looked.volume.name,
        site=looked.volume.site,
        answer=verdict,
        needed_bytes=answer.need.room.bytes if answer else 0,
        fetch_bytes=candidate.fetch_bytes if fetches else 0,
        seconds=expected_seconds(candidate.fetch_bytes, candidate.bytes_per_second) if fetches else None,
        evicts=len(going),
        evicted=_named(tx, actor, looked.volume, {one.id: one.reason for one in going}, now),
        reasons=[*reasons, *_words(looked)],
        blockers=list(decision.blockers) if isinstance(decision, Refuse) else [],
    )


def _answer(looked: Looked) -> Answer:
    state = looked.candidate.state
    if obstacle(looked.candidate) is not None:
        return "refused"
    if state in (CachedState.READY, CachedState.FILLING):
        return "there" if state is CachedState.READY else "coming"
    return "evicts" if looked.candidate.evicts else "fits"


def _words(looked: Looked) -> list[str]:
    why_not = obstacle(looked.candidate)
    if why_not is not None:
        return [why_not]
    return list(looked.answer.decision.reasons) if looked.answer else []


def _named(tx: Connection, actor: Actor, volume: Volume, going: Mapping[str, str], now: datetime) -> list[CacheStep]:
    """Those of projects one has a role in."""
    seen: Sequence[CachedView] = [
        view for view in caches.of_ids(tx, going.keys()) if access.sees(actor, view.cached.project_id)
    ]
    taken = rooms(shares_of(stock_of(tx, volume.id, now))) if seen else {}
    return [
        CacheStep(
            cached_id=view.cached.id,
            dataset=f"{view.project}/{view.dataset}",
            commit_id=view.cached.commit_id,
            bytes=taken[view.cached.id].bytes,
            at=now,
            cause=None,
            reason=going[view.cached.id],
        )
        for view in seen
    ]
