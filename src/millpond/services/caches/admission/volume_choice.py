"""Chooses the volume for a commit when nobody names one: loads what the choice needs and says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import caches, computes, links, sites, volumes
from millpond.db.caches import CommitSize
from millpond.db.leases import Sees
from millpond.decide.admission import Refuse, usable_room
from millpond.decide.near import NearRule, Serves
from millpond.decide.stock import used_room
from millpond.decide.volume_choice import VolumeCandidate, VolumeChoice, choose_volume, obstacle
from millpond.errors import DoesNotFit, MillError, VolumeProblem
from millpond.model.cached_state import CachedState
from millpond.model.compute import Compute
from millpond.model.topology import LAKE
from millpond.model.volume import Volume
from millpond.services.caches.admission.admit import Answer, check_usable, would_admit
from millpond.services.caches.admission.stock import space_of, stock_of
from millpond.services.people import access
from millpond.services.places import geography
from millpond.services.places.geography import Geography

Near = Callable[[Volume], Serves]


@dataclass(frozen=True, slots=True)
class Chosen:
    volume: Volume
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Speed:
    """From the lake to a volume, as far as it is known."""

    bytes_per_second: float | None
    is_measured: bool


@dataclass(frozen=True, slots=True)
class Looked:
    """One volume and what admission says of it; None where there was no need to ask."""

    volume: Volume
    candidate: VolumeCandidate
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class LookedAll:
    looked: Sequence[Looked]
    choice: VolumeChoice


def look_at_all(
    tx: Connection, size: CommitSize, *, near: str | None, rule: NearRule, now: datetime, sees: Sees
) -> LookedAll:
    """Every volume as the choice sees it. NotFound for a name that is neither a compute nor a site."""
    places = geography.load(tx, rule, now)
    serves = _near(tx, near, places) if near is not None else None
    measured = {one.volume_id: one.bytes_per_second for one in links.bandwidths(tx) if one.source_id == LAKE}
    looked = [
        _look(tx, volume, size, serves, _speed(volume, measured.get(volume.id), places), now, sees)
        for volume in volumes.all_of(tx)
    ]
    return LookedAll(looked, choose_volume([one.candidate for one in looked]))


def choose(tx: Connection, size: CommitSize, *, near: str | None, rule: NearRule, now: datetime, sees: Sees) -> Chosen:
    """The best volume, near the compute or site named if one is. Changes nothing; lock the volume before it is filled.

    NotFound for a name that is neither, VolumeProblem or DoesNotFit, with a reason for every volume, if none can
    take it.
    """
    found = look_at_all(tx, size, near=near, rule=rule, now=now, sees=sees)
    if not found.looked:
        raise VolumeProblem("No volume can be used.", hint="Add one: mill volume add NAME PATH")
    best = found.choice.best or _only_full(found.looked)
    if best is None:
        raise _nowhere(size, near, found.choice, found.looked)
    volume = next(one.volume for one in found.looked if one.volume.id == best.id)
    return Chosen(volume, found.choice.reasons)


def _near(tx: Connection, name: str, places: Geography) -> Near:
    """Whether a volume serves this compute, or one of the computes of this site."""
    known = computes.all_computes(tx)
    meant = [compute for compute in known if compute.name == name]
    site = sites.find(tx, name)
    if not meant and site is None:
        candidates = [*(compute.name for compute in known), *sites.names(tx)]
        raise access.not_found("compute or site", name, candidates)
    if not meant and site is not None:
        meant = [compute for compute in known if compute.site_id == site.id]
    if meant:
        return lambda volume: _best_of(meant, volume, places)
    assert site is not None  # a site without computes: whether they would see the volume shows once there are some
    site_id = site.id

    def beside(volume: Volume) -> Serves:
        near = places.near(site_id, volume.site_id)
        return Serves(near.near, True, near.reason)

    return beside


def _best_of(found: Sequence[Compute], volume: Volume, places: Geography) -> Serves:
    served = [places.serves(compute, volume) for compute in found]
    return next((one for one in served if one.serves), served[0])


def _speed(volume: Volume, measured: float | None, places: Geography) -> Speed:
    """What fills brought; before there was one, what the link is said to carry. Never above a limit."""
    link = places.link(LAKE, volume.site_id)
    known = measured or (link.bits_per_second / 8 if link and link.bits_per_second else None)
    return Speed(places.within_limit(known, LAKE, volume.site_id), measured is not None)


def _look(
    tx: Connection,
    volume: Volume,
    size: CommitSize,
    near: Near | None,
    speed: Speed,
    now: datetime,
    sees: Sees,
) -> Looked:
    there = caches.find(tx, volume.id, size.commit_id)
    candidate = VolumeCandidate(
        id=volume.id,
        name=volume.name,
        serves=near(volume) if near else None,
        problem=_unwell(volume),
        state=there.cached.state if there else None,
        held_up=there.cached.problem if there and there.cached.state is CachedState.FILLING else None,
        fetch_bytes=size.bytes,
        bytes_per_second=speed.bytes_per_second,
        is_measured=speed.is_measured,
        tier=volume.tier,
        tier_throughput=volume.tier_throughput,
        tier_price=volume.tier_price,
    )
    if candidate.is_there or obstacle(candidate) is not None:
        return Looked(volume, candidate, None)
    if there is not None and there.cached.state is CachedState.EVICTING:
        return Looked(volume, replace(candidate, refusal=f"{size.written} is being evicted from it"), None)
    answer = would_admit(tx, volume, size, now, sees=sees)
    decision = answer.decision
    if isinstance(decision, Refuse):
        return Looked(volume, replace(candidate, refusal="; ".join(decision.reasons)), answer)
    stock = stock_of(tx, volume.id, now)
    admitted = replace(
        candidate,
        evicts=len(decision.evict),
        free_bytes=max(0, usable_room(space_of(volume), stock).bytes - used_room(stock).bytes),
        fetch_bytes=answer.need.fetch_bytes,
        base=answer.need.base[:8] if answer.need.base else None,
    )
    return Looked(volume, admitted, answer)


def _unwell(volume: Volume) -> str | None:
    try:
        check_usable(volume)
    except VolumeProblem as error:
        return error.message
    return None


def _only_full(looked: Sequence[Looked]) -> VolumeCandidate | None:
    """The one volume that only lacks room: beginning to fill it says best what stands in the way."""
    full = [one.candidate for one in looked if one.answer is not None or one.candidate.state is CachedState.EVICTING]
    return full[0] if len(full) == 1 else None


def _nowhere(size: CommitSize, near: str | None, choice: VolumeChoice, looked: Sequence[Looked]) -> MillError:
    beside = f" near {near}" if near else ""
    message = f"No volume{beside} can hold {size.written}. {'. '.join(one.rstrip('.') for one in choice.refused)}."
    answers = [one.answer.decision for one in looked if one.answer is not None]
    if not answers:
        return VolumeProblem(message, hint="See: mill topology, mill volume list")
    blockers = [text for answer in answers if isinstance(answer, Refuse) for text in answer.blockers]
    return DoesNotFit(message, hint="Clear or unpin a cached commit, or enlarge a volume.", blockers=blockers[:10])
