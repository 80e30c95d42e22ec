"""How a router reaches a replica: by its sockets on one machine, by its ports from another (docs/design/025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.model.compute import Compute
from millpond.model.replica import Replica

# What is said of a replica only once it lasts: one that was killed is replaced in less.
LOST_SECONDS = 5.0
_HINT = (
    "Let machines of the site reach each other's ports, or name the address to use: mill agent --serving-address HOST"
)


@dataclass(frozen=True, slots=True)
class ReplicaAddresses:
    http: str | None
    grpc: str | None


def addresses_of(replica: Replica, router_agent: str | None) -> ReplicaAddresses:
    """Where the router that runs at this agent reaches the replica; nowhere if it has sockets alone, elsewhere."""
    ready = replica.ready
    if ready.get("agent") in (None, router_agent):
        return ReplicaAddresses(ready.get("http"), ready.get("grpc"))
    return ReplicaAddresses(ready.get("remote_http"), ready.get("remote_grpc"))


def serves_remotely(here: Sequence[Compute]) -> bool:
    """True if replicas at a site, whose computes these are, may be on other machines than their router."""
    able = [one for one in here if one.can("services")]
    return len(able) > 1 or any(not one.can("routers") for one in able)


def unreached(stats: Mapping[str, Any], replicas: Sequence[Replica], site: str) -> list[str]:
    """What a router cannot reach for a while, of replicas that are ready by their own word, for people."""
    known = {one.placement_id: one for one in replicas if one.site == site}
    lost = stats.get("lost")
    return [
        f"The router at {site} cannot reach a replica of {known[one['id']].written}: {one.get('problem')}. {_HINT}"
        for one in (lost if isinstance(lost, list) else ())
        if isinstance(one, dict) and one.get("id") in known and _seconds(one) >= LOST_SECONDS
    ]


def _seconds(one: Mapping[str, Any]) -> float:
    seconds = one.get("seconds")
    return float(seconds) if isinstance(seconds, int | float) else 0.0
