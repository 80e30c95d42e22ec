"""Which replicas of an endpoint start and which drain, so that as many answer as should: pure, by site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millpond.model.replica import Replica, ReplicaState


@dataclass(frozen=True, slots=True, order=True)
class ReplicaKind:
    """What makes two replicas exchangeable: the version, and a digest of how it is run."""

    model: str
    version: int
    shape: str


@dataclass(frozen=True, slots=True)
class ReplicaPlan:
    start: tuple[ReplicaKind, ...] = ()
    # Ids.
    drain: tuple[str, ...] = ()


def kind_of(replica: Replica) -> ReplicaKind:
    return ReplicaKind(replica.model, replica.version, replica.shape)


def divided(replicas: int, weights: Sequence[int]) -> list[int]:
    """Replicas for each version by its share of requests: one at least for each that has a share."""
    shared = [weight > 0 for weight in weights]
    total = sum(weights)
    if not replicas or not total:
        return [0] * len(weights)
    rest = max(0, replicas - sum(shared))
    exact = [rest * weight / total for weight in weights]
    found = [int(part) + has for part, has in zip(exact, shared, strict=True)]
    by_remainder = sorted(range(len(weights)), key=lambda place: int(exact[place]) - exact[place])
    for place in by_remainder[: rest + sum(shared) - sum(found)]:
        found[place] += 1
    return found


def plan_replicas(wanted: Mapping[ReplicaKind, int], here: Sequence[Replica]) -> ReplicaPlan:
    """What to do at one site. `here` are its replicas, oldest first.

    While others are replaced there is at most one replica more than wanted, and one that answers is drained only when
    as many as wanted still do. What never answered makes room at once.
    """
    living = [one for one in here if one.state in (ReplicaState.STARTING, ReplicaState.READY)]
    surplus = _surplus(wanted, living)
    total = sum(wanted.values())
    drain = [one for one in surplus if one.state is ReplicaState.STARTING]
    ready = sum(one.state is ReplicaState.READY for one in living)
    may_drain = max(0, ready - total)
    drain += [one for one in surplus if one.state is ReplicaState.READY][:may_drain]
    missing = list((Counter(dict(wanted)) - Counter(kind_of(one) for one in living)).elements())
    is_replacing = any(one not in drain for one in surplus)
    room = total + is_replacing - (len(living) - len(drain))
    return ReplicaPlan(tuple(sorted(missing)[: max(0, room)]), tuple(one.id for one in drain))


def _surplus(wanted: Mapping[ReplicaKind, int], living: Sequence[Replica]) -> list[Replica]:
    """Those that are not wanted: of a kind that nobody wants any more, or too many; outdated ones first."""
    left = dict(wanted)
    found: list[Replica] = []
    # Those that answer are kept before those that start, older ones before younger ones.
    for one in sorted(living, key=lambda one: (one.state is not ReplicaState.READY, one.created_at, one.id)):
        kind = kind_of(one)
        if left.get(kind, 0) > 0:
            left[kind] -= 1
        else:
            found.append(one)
    return sorted(found, key=lambda one: (kind_of(one) in wanted, one.created_at, one.id))
