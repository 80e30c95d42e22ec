"""Where somebody reads a commit: the stores that hold it, the best for their site first, each with what signs URLs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlsplit

from sqlalchemy import Connection

from millpond.blobs.signing import ROUTE
from millpond.blobs.store import SignedUrl
from millpond.db import lake_replicas, server, sites, store_sightings
from millpond.decide.store_order import StoreWay, order_stores
from millpond.lake import keys
from millpond.model.agent import Agent
from millpond.model.lake_replica import LakeReplica
from millpond.model.lake_store import ENDPOINT, OWN, StoreSight
from millpond.model.people import Actor
from millpond.model.volume import Site
from millpond.services.computes.presence import connected_since
from millpond.services.deps import Deps

# A probe is made at once.
_PROBE_SECONDS = 60
# Who reaches the server reaches a lake of these.
_SERVED_HERE = ("file", "memory")
NOT_TRIED = "No agent of the site has tried it yet."


@dataclass(frozen=True, slots=True)
class StoreProbe:
    """A URL by which an agent sees whether it can read the lake from a store."""

    store: str
    name: str
    url: str


@dataclass(frozen=True, slots=True)
class ReadableStore:
    """A store that holds a commit. `sign` makes the URL to GET a key for so many seconds."""

    id: str
    name: str
    sign: Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class SiteStore:
    """A store that a site reads the lake from. `problem`: why it cannot now; `seen_at`: when an agent last tried."""

    id: str
    name: str
    problem: str | None
    seen_at: datetime | None


def stores_for(deps: Deps, actor: Actor, commit_id: str | None = None) -> list[ReadableStore]:
    """Where this actor reads the lake, the best first. There is always one.

    Replicas count if they hold this commit entirely, or, without one, if the actor's site reads from them.
    """
    own = ReadableStore(OWN, "the lake", lambda key, seconds: deps.store.sign("GET", key, seconds).url)
    with deps.db.read() as tx:
        endpoint = _endpoint(tx, actor.site_id)
        replicas = _replicas(tx, actor.site_id, commit_id)
        problems = problems_at(tx, deps, actor.site_id) if endpoint or replicas else {}
    found = {OWN: own}
    if endpoint is not None:
        found[ENDPOINT] = ReadableStore(ENDPOINT, f"the lake at {endpoint}", _signing(deps, endpoint))
    for one in replicas:
        found[one.id] = ReadableStore(one.id, f"replica {one.name}", _replica_signing(deps, one))
    if len(found) == 1:
        return [own]
    chosen = {ENDPOINT, *(one.id for one in replicas if actor.site_id in one.sites)}
    ways = [
        StoreWay(
            one.id,
            one.name,
            is_chosen=one.id in chosen,
            is_copy=one.id not in (OWN, ENDPOINT),
            problem=problems.get(one.id),
        )
        for one in found.values()
    ]
    return [found[way.id] for way in order_stores(ways[0], ways[1:])]


def _replicas(tx: Connection, site_id: str | None, commit_id: str | None) -> Sequence[LakeReplica]:
    if commit_id is not None:
        return lake_replicas.holding(tx, commit_id)
    return lake_replicas.of_site(tx, site_id) if site_id else ()


def _replica_signing(deps: Deps, replica: LakeReplica) -> Callable[[str, int], str]:
    def sign(key: str, seconds: int) -> str:
        return deps.replicas.store(replica, deps.seal).sign("GET", key, seconds).url

    return sign


def sign_create(deps: Deps, site_id: str | None, key: str, checksum: str) -> SignedUrl:
    """A PUT of a new object, through the endpoint of the site while agents there can reach it."""
    signed = deps.store.sign_create(key, deps.settings.url_seconds, checksum)
    if site_id is None:
        return signed
    with deps.db.read() as tx:
        endpoint = _endpoint(tx, site_id)
        is_away = endpoint is not None and ENDPOINT in problems_at(tx, deps, site_id)
    return signed if endpoint is None or is_away else at_endpoint(deps, endpoint, signed, key)


def at_endpoint(deps: Deps, endpoint: str, signed: SignedUrl, key: str) -> SignedUrl:
    """What the lake has `signed`, for another endpoint of it."""
    if signed.url.startswith(ROUTE):  # the server's own, reached through something else
        return replace(signed, url=f"{endpoint}{signed.url}")
    opened = deps.endpoints.at(deps.settings.lake, endpoint)
    return opened.sign_like(signed, key, deps.settings.url_seconds)


def problems_at(tx: Connection, deps: Deps, site_id: str | None) -> Mapping[str, str]:
    """Why stores cannot be read at a site, by their ids: those that no agent there could read a moment ago."""
    if site_id is None:
        return {}
    sights = store_sightings.of_site(tx, site_id, since=connected_since(deps.clock.now()))
    well = {one.store_id for one in sights if one.problem is None}
    return {one.store_id: one.problem for one in sights if one.problem is not None and one.store_id not in well}


def wanted_at(deps: Deps, site_id: str, within: Connection | None = None) -> Sequence[str]:
    """The ids of the stores that agents of a site are to try: none where the server itself serves the lake."""
    with deps.db.read(within) as tx:
        site = sites.get(tx, site_id)
        copies = [one.id for one in lake_replicas.of_site(tx, site_id)]
    own = [ENDPOINT] if site is not None and site.lake_endpoint else []
    if own or copies:
        return [*own, *copies, OWN]
    return [] if urlsplit(deps.settings.lake).scheme in _SERVED_HERE else [OWN]


def seen_at(tx: Connection, deps: Deps, site: Site) -> list[SiteStore]:
    """The stores that were set for a site, and the lake, as its agents find them; none where there is but the lake."""
    copies = {one.id: f"replica {one.name}" for one in lake_replicas.of_site(tx, site.id)}
    if site.lake_endpoint is None and not copies:
        return []
    problems = problems_at(tx, deps, site.id)
    since = connected_since(deps.clock.now())
    tried = {one.store_id: one.seen_at for one in reversed(store_sightings.of_site(tx, site.id, since=since))}
    endpoint = {ENDPOINT: f"the lake at {site.lake_endpoint}"} if site.lake_endpoint else {}
    names = copies | endpoint | {OWN: "the lake at its own endpoint"}
    return [
        SiteStore(id, name, problems.get(id) or (None if id in tried else NOT_TRIED), tried.get(id))
        for id, name in names.items()
    ]


def lake_id(deps: Deps) -> str:
    with deps.db.read() as tx:
        row = server.get(tx)
    return (row.lake_id if row else None) or ""


def probes(deps: Deps, actor: Actor) -> list[StoreProbe]:
    """What an agent reads to try the stores of its site."""
    return [StoreProbe(one.id, one.name, one.sign(keys.LAKE, _PROBE_SECONDS)) for one in stores_for(deps, actor)]


def observe(deps: Deps, agent: Agent, seen: Mapping[str, str | None]) -> None:
    """Take what an agent found when it tried the stores of its site: a problem or None, by the ids of stores."""
    key, elapsed = (agent.id, "stores"), deps.clock.elapsed()
    if deps.repeats.is_known(key, seen, elapsed):
        return
    now = deps.clock.now()
    with deps.db.read() as tx:
        before = {one.store_id: one.problem for one in store_sightings.of_agent(tx, agent.id)}
    if seen or before:
        with deps.db.write() as tx:
            sights = [StoreSight(agent.id, store_id, problem, now) for store_id, problem in seen.items()]
            store_sightings.put(tx, agent.id, sights)
    deps.repeats.take(key, seen, elapsed)
    if before != seen:
        deps.events.publish("computes", project_id=None, data={"id": agent.compute_id, "what": "stores"})


def _endpoint(tx: Connection, site_id: str | None) -> str | None:
    site = sites.get(tx, site_id) if site_id else None
    return site.lake_endpoint if site else None


def _signing(deps: Deps, endpoint: str) -> Callable[[str, int], str]:
    def sign(key: str, seconds: int) -> str:
        return at_endpoint(deps, endpoint, deps.store.sign("GET", key, seconds), key).url

    return sign
