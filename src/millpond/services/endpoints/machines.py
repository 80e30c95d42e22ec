"""Sites whose replicas run on other machines than their router."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import Connection

from millpond.db import computes
from millpond.decide.endpoints.addresses import serves_remotely
from millpond.model.compute import Compute


def remote_sites(tx: Connection) -> frozenset[str]:
    """Their ids. A site with one machine stays with sockets, and opens no ports for replicas."""
    by_site: dict[str, list[Compute]] = defaultdict(list)
    for compute in computes.all_computes(tx):
        by_site[compute.site_id].append(compute)
    return frozenset(site for site, here in by_site.items() if serves_remotely(here))
