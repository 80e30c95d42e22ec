"""Which replicas an endpoint should have, by site."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from millpond.decide.endpoints.changes import versions_at
from millpond.decide.endpoints.replicas import ReplicaKind, divided
from millpond.model.endpoint import Endpoint
from millpond.model.endpoint_spec import EndpointSite
from millpond.model.volume import Site
from millpond.services.endpoints import service_jobs

Wanted: TypeAlias = Mapping[str, Mapping[ReplicaKind, int]]


def wanted_kinds(
    endpoint: Endpoint, places: Sequence[tuple[Site, EndpointSite]], remote: Collection[str] = ()
) -> Wanted:
    """Kinds of replicas by the names of sites: versions by their share of requests, and one for the shadow.

    `remote` are ids of sites whose replicas are reached from other machines.
    """
    found: dict[str, dict[ReplicaKind, int]] = {}
    spec = endpoint.spec
    for site, asked in places:
        count = endpoint.wanted.get(site.name, 0)
        versions = versions_at(endpoint, asked)
        kind_for = partial(service_jobs.kind_for, spec, asked, remote=site.id in remote)
        kinds = [kind_for(one.name, one.number) for one in versions]
        here = dict(zip(kinds, divided(count, [one.weight for one in versions]), strict=True))
        if spec.shadow is not None and count:
            kind = kind_for(spec.shadow.name, spec.shadow.number)
            here[kind] = max(1, here.get(kind, 0))
        found[site.name] = {kind: number for kind, number in here.items() if number}
    return found
