"""What a router is told: its endpoints, who serves them and with which shares (docs/design/025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millpond.decide.endpoints.addresses import addresses_of
from millpond.decide.endpoints.changes import entry_of, versions_at
from millpond.decide.endpoints.log_rules import router_bytes, site_rules
from millpond.decide.endpoints.weights import Version, served_weights
from millpond.model.endpoint import Endpoint
from millpond.model.endpoint_spec import EndpointSite
from millpond.model.replica import Replica, ReplicaState, Router

SCHEMA = "millpond.router/1"
# How long requests wait for a replica: one that is replaced, or the first one after none.
_REPLACED_SECONDS, _COLD_SECONDS, _HELD_REQUESTS = 30, 300, 1000


@dataclass(frozen=True, slots=True)
class EndpointAtSite:
    """An endpoint at the router's site, its replicas there, and how many of each version there should be."""

    endpoint: Endpoint
    site: EndpointSite
    replicas: Sequence[Replica]
    wanted: Mapping[Version, int]


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Keys that sign tokens of endpoints, as their public halves, and tokens that are taken back."""

    keys: Mapping[str, str]
    revoked: Sequence[str] = ()


def router_config(
    project: str, router: Router, routed: Sequence[EndpointAtSite], rules: TokenRules, agent: str | None = None
) -> dict[str, Any]:
    """Without the number of the configuration and the tokens of replicas. `agent` is that of the router's machine."""
    return {
        "schema": SCHEMA,
        "project": project,
        "site": router.site,
        "keys": [{"id": key, "ed25519": public} for key, public in sorted(rules.keys.items())],
        "revoked": sorted(rules.revoked),
        "log": {"max_bytes": router_bytes([one.endpoint.spec.log for one in routed])},
        "endpoints": [_endpoint(one, agent) for one in sorted(routed, key=lambda one: one.endpoint.name)],
    }


def has_taken(router: Router, stats: Mapping[str, Any], endpoint: Endpoint) -> bool:
    """Whether the router, as it told last, gives the endpoint's versions the shares they should have."""
    site = entry_of(endpoint.spec, router.site)
    told = next((one for one in router.config.get("endpoints", ()) if one["id"] == endpoint.id), None)
    if site is None or told is None:
        return False
    asked = {(one.name, one.number): one.weight for one in versions_at(endpoint, site) if one.weight}
    given = {(one["model"], one["version"]): one["weight"] for one in told["versions"] if one["weight"]}
    return asked == given and stats.get("revision", router.config_number) >= router.config_number


def _endpoint(one: EndpointAtSite, agent: str | None) -> dict[str, Any]:
    endpoint, spec = one.endpoint, one.endpoint.spec
    asked = {(version.name, version.number): version.weight for version in versions_at(endpoint, one.site)}
    shadow = (spec.shadow.name, spec.shadow.number) if spec.shadow else None
    serving = [replica for replica in one.replicas if (replica.model, replica.version) != shadow or shadow in asked]
    shares = served_weights(asked, one.wanted, serving)
    found: dict[str, Any] = {
        "name": endpoint.name,
        "id": endpoint.id,
        "public": spec.access.public,
        "token_quota_per_min": spec.access.token_quota_per_min or None,
        "versions": [
            {"model": model, "version": number, "weight": weight} for (model, number), weight in sorted(shares.items())
        ],
        "replicas": [told for replica in one.replicas if (told := _replica(replica, agent))],
        "hold": {
            "seconds": _COLD_SECONDS if one.site.min == 0 else _REPLACED_SECONDS,
            "requests": _HELD_REQUESTS,
        },
        "log": {
            "level": spec.log.level.value,
            "sample": spec.log.sample,
            "redact": list(spec.log.redact),
            **site_rules(spec.log),
        },
    }
    if spec.shadow is not None:
        found["shadow"] = {
            "model": spec.shadow.name, "version": spec.shadow.number, "percent": spec.shadow.percent,
        }  # fmt: skip
    return found


def _replica(one: Replica, agent: str | None) -> dict[str, Any] | None:
    """None while the router cannot reach it."""
    where = addresses_of(one, agent)
    if where.http is None:
        return None
    return {
        "id": one.placement_id,
        "model": one.model,
        "version": one.version,
        "http": where.http,
        "grpc": where.grpc,
        "state": "ready" if one.state is ReplicaState.READY else "draining",
    }
