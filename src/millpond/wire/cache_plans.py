"""Why a commit is cached or not, what goes next, and which branches are kept cached."""

from __future__ import annotations

from typing import Literal

from millpond.model.volume import Cause
from millpond.wire.base import Request, Response, Time
from millpond.wire.cache import CachedCommit, Eviction


class CacheRefusal(Response):
    """The last time a commit was refused on a volume."""

    volume: str
    by: str
    reason: str
    at: Time


class CacheWhyOn(Response):
    """What is known of one commit on one volume, as sentences; the facts behind them beside it."""

    volume: str
    site: str
    cached: CachedCommit | None
    evicted: Eviction | None
    refused: CacheRefusal | None
    reasons: list[str]


class CacheWhy(Response):
    """`reasons` hold for the commit everywhere; then each volume that has, had or refused it."""

    dataset: str  # project/dataset
    commit_id: str
    reasons: list[str]
    volumes: list[CacheWhyOn]


class CacheStep(Response):
    """One cached commit that goes, or stays; of projects one has a role in."""

    cached_id: str
    dataset: str
    commit_id: str
    # What its going gives back, once those before it are gone.
    bytes: int
    # When, if nobody uses it until then; null for what stays.
    at: Time | None
    cause: Cause | None
    reason: str


class VolumePlan(Response):
    """What the next evictions on a volume would be if nothing changed, in order, and what stays and why."""

    volume: str
    used_bytes: int
    usable_bytes: int
    foreign_bytes: int | None
    high_bytes: int
    low_bytes: int
    goes: list[CacheStep]
    stays: list[CacheStep]


# What asking would bring: it is there, on its way, it fits, it fits once something is evicted, or it is refused.
Answer = Literal["there", "coming", "fits", "evicts", "refused"]


class CacheOffer(Response):
    """What asking for a commit on this volume would bring now. Nothing is done, and nothing is promised."""

    volume: str
    site: str
    answer: Answer
    # What it would take of the volume; what would have to come from the lake, and in which time, null if not known.
    needed_bytes: int
    fetch_bytes: int
    seconds: float | None
    # How many cached commits would go first, and those among them that one may know of.
    evicts: int
    evicted: list[CacheStep]
    reasons: list[str]
    blockers: list[str]


class Refused(CacheRefusal):
    """A commit of a project one has a role in."""

    dataset: str  # project/dataset
    commit_id: str


class CachePolicy(Response):
    """`branch` is kept cached on `volume`: every new commit of it is cached by itself, the previous one ages out."""

    id: str
    project: str
    dataset: str
    branch: str
    volume: str
    created_by: str
    created_at: Time
    # Where the branch is, and the state of that commit on the volume: null while it is not there.
    commit_id: str | None
    state: str | None
    problem: str | None


class CachePolicyCreate(Request):
    """`dataset` in written form with a branch (the default branch without one)."""

    dataset: str
    volume: str
    project: str | None = None
