"""Files that agents give to the services they run: tokens of replicas, configurations of routers.

Those of clusters are made by `services/clusters/files.py`, in the same shape.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from millpond.db import replicas, sites
from millpond.model.job import Job
from millpond.model.job_spec import REPLICA
from millpond.model.replica import Router
from millpond.model.volume import Site


@dataclass(frozen=True, slots=True)
class ServiceFiles:
    """What a replica demands of whoever asks it; what a router knows, where it listens, and its certificate.

    Of clusters: further files, variables, the volume of a scratch directory; the kind whose programs join it with
    a node of their own; what it waits for, why it cannot start.
    """

    token: str = ""
    config: str = ""
    host: str = "127.0.0.1"
    tls_cert: str | None = None
    tls_key: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    scratch_volume: str = ""
    joins: str = ""
    waiting: str = ""
    refused: str = ""


def of_jobs(tx: Connection, jobs: Iterable[Job], server_secret: bytes) -> Mapping[str, ServiceFiles]:
    """By the ids of those jobs that are services of endpoints."""
    services = [job for job in jobs if job.spec.service is not None and not job.spec.service.cluster]
    found = {
        job.id: ServiceFiles(token=replica_token(server_secret, job.status.placement_id or ""))
        for job in services
        if job.spec.service and job.spec.service.role == REPLICA
    }
    routing = {job.id for job in services} - found.keys()
    if not routing:
        return found
    places = {site.id: site for site in sites.all_of(tx)}
    for job_id, router in replicas.routers_of_jobs(tx, routing).items():
        found[job_id] = _router(router, places.get(router.site_id), server_secret)
    # One that was replaced meanwhile is being stopped, and keeps what it has.
    return {**dict.fromkeys(routing, ServiceFiles()), **found}


def replica_token(server_secret: bytes, placement_id: str) -> str:
    """What a replica demands of whoever asks it. Derived, so that it is stored nowhere."""
    digest = hmac.digest(server_secret, f"replica:{placement_id}".encode(), hashlib.sha256)
    return base64.b32encode(digest).decode().rstrip("=").lower()


def _router(router: Router, site: Site | None, server_secret: bytes) -> ServiceFiles:
    serving = site.serving if site else None
    return ServiceFiles(
        config=json.dumps(_with_tokens(router, server_secret)),
        host=serving.host if serving else "127.0.0.1",
        tls_cert=serving.tls_cert if serving else None,
        tls_key=serving.tls_key if serving else None,
    )


def _with_tokens(router: Router, server_secret: bytes) -> dict[str, Any]:
    def told(one: Mapping[str, Any]) -> dict[str, Any]:
        tokens = [{**item, "token": replica_token(server_secret, item["id"])} for item in one["replicas"]]
        return {**one, "replicas": tokens}

    endpoints = [told(one) for one in router.config.get("endpoints", ())]
    return {**router.config, "revision": router.config_number, "endpoints": endpoints}
