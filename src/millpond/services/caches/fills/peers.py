"""Fills from one site to another without a mount: who sends what to whom, and the grants that allow it.

A grant is for one commit, one attempt of one fill and one sender. Its token is derived from the server's secret, so
every server tells both ends the same and nothing is stored. The sender takes each once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass

from sqlalchemy import Connection

from millpond.db import agents, caches, volumes
from millpond.db.caches import CachedView
from millpond.decide.source import FillSource
from millpond.model.agent import Agent
from millpond.model.volume import CachedCommit, Volume
from millpond.services.caches.fills import sources
from millpond.services.caches.fills.sources import Ways
from millpond.services.deps import Deps


@dataclass(frozen=True, slots=True)
class PeerWay:
    """How files come from a volume of another site."""

    address: str
    fingerprint: str
    token: str


@dataclass(frozen=True, slots=True)
class CommitGrant:
    """A commit that whoever shows the token may fetch, published or being filled."""

    token_sha256: str
    volume_id: str
    project_id: str
    dataset_id: str
    commit_id: str
    site: str  # the id of the site it goes to


def peer_of(deps: Deps, ways: Ways, row: CachedCommit, source: FillSource) -> PeerWay | None:
    """How the agent gets the files of a fill from a volume of another site; None if it copies from its mount."""
    volume = next((one for one in ways.visited if one.id == source.id), None)
    sender = ways.sender(volume) if volume is not None and not _is_copied(ways, source, volume) else None
    if volume is None or sender is None or sender.peer is None:
        return None
    return PeerWay(
        address=ways.addresses[volume.site_id],
        fingerprint=sender.peer,
        token=_token(deps.secret, row, sender),
    )


def grants_for(deps: Deps, agent: Agent, within: Connection | None = None) -> list[CommitGrant]:
    """What agents of other sites may fetch from this one: the commits that they fill from its volumes now."""
    with deps.db.read(within) as tx:
        known = agents.get(tx, agent.id)
        if known is None or known.peer is None:
            return []
        tended = {one.id: one for one in volumes.all_of(tx, agent.site_id) if one.filler_id == agent.id}
        ways: dict[str, Ways] = {}
        return [
            grant
            for view in caches.filling(tx)
            if view.site_id != agent.site_id and (grant := _grant(tx, deps, ways, known, tended, view)) is not None
        ]


def _grant(
    tx: Connection, deps: Deps, known: dict[str, Ways], sender: Agent, tended: dict[str, Volume], view: CachedView
) -> CommitGrant | None:
    row = view.cached
    target = volumes.get(tx, row.volume_id)
    receiver = agents.get(tx, target.filler_id) if target and target.filler_id else None
    if receiver is None:
        return None
    ways = known[receiver.id] if receiver.id in known else sources.load(tx, deps, receiver)
    known[receiver.id] = ways
    source = sources.source_of(tx, ways, view)
    if source is None or source.id not in tended or _is_copied(ways, source, tended[source.id]):
        return None
    return CommitGrant(
        token_sha256=hashlib.sha256(_token(deps.secret, row, sender).encode()).hexdigest(),
        volume_id=source.id,
        project_id=row.project_id,
        dataset_id=row.dataset_id,
        commit_id=row.commit_id,
        site=view.site_id,
    )


def _is_copied(ways: Ways, source: FillSource, volume: Volume) -> bool:
    """True if the agent takes the files from its mount: only what is published there can be."""
    return ways.is_mounted(volume) and not source.is_followed


def _token(secret: bytes, row: CachedCommit, sender: Agent) -> str:
    about = f"peer:{row.id}:{row.attempt}:{row.commit_id}:{sender.id}"
    return base64.b32encode(hmac.digest(secret, about.encode(), hashlib.sha256)).decode().rstrip("=").lower()
