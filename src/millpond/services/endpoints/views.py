"""Endpoints as people see them: with their replicas, and how long each part of a start took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection

from millpond.db import computes, endpoint_analyses, jobs, replicas, sites
from millpond.decide.endpoints.changes import sites_of, versions_at
from millpond.decide.endpoints.serving import site_serving
from millpond.model.compute import Compute
from millpond.model.endpoint import Endpoint, EndpointView
from millpond.model.endpoint_analysis import AnalysisKind
from millpond.model.job import Job
from millpond.model.replica import Replica, ReplicaState, ReplicaView, SiteServing
from millpond.model.volume import Site
from millpond.services.computes.presence import is_connected


def views(tx: Connection, found: Sequence[Endpoint], now: datetime) -> list[EndpointView]:
    living = replicas.living(tx, [one.id for one in found])
    known = jobs.by_ids(tx, {one.job_id for one in living})
    places, machines = sites.all_of(tx), computes.all_computes(tx)
    drifts = endpoint_analyses.newest(tx, [one.id for one in found if one.spec.drift], AnalysisKind.DRIFT)
    shown: list[EndpointView] = []
    for one in found:
        here = [_replica(replica, known.get(replica.job_id)) for replica in living if replica.endpoint_id == one.id]
        serving = _serving(one, places, machines, here, now)
        alerts = drifts[one.id].alerts if one.id in drifts else ()
        shown.append(EndpointView(one, here, _addresses(one, places), serving, alerts))
    return shown


def _serving(
    endpoint: Endpoint, places: Sequence[Site], machines: Sequence[Compute], here: Sequence[ReplicaView], now: datetime
) -> dict[str, SiteServing]:
    """By site, what it serves now and how far it is with what it should serve."""
    found: dict[str, SiteServing] = {}
    for site, asked in sites_of(endpoint.spec, places):
        desired = {one.model for one in versions_at(endpoint, asked) if one.weight}
        shadow = endpoint.spec.shadow.model if endpoint.spec.shadow else None
        heard = [one.seen_at for one in machines if one.site_id == site.id and one.seen_at is not None]
        found[site.name] = site_serving(
            desired,
            endpoint.wanted.get(site.name, 0),
            [one for one in here if one.replica.site_id == site.id and one.replica.written not in {shadow} - desired],
            is_online=any(is_connected(at, now) for at in heard),
            heard_at=max(heard, default=None),
            is_pushed=asked.model is not None,
        )
    return found


def _replica(replica: Replica, job: Job | None) -> ReplicaView:
    if job is None:
        return ReplicaView(replica)
    return ReplicaView(
        replica,
        job_name=job.name,
        job_state=job.status.state.value,
        compute=job.status.compute,
        node=job.status.node,
        reason=replica.problem or (job.status.reasons[-1] if job.status.reasons else ""),
        started=start_ledger(replica, job),
    )


def start_ledger(replica: Replica, job: Job) -> dict[str, float]:
    """Seconds of each part of the newest start, as far as it has come: place, environment, fill, load, warm up."""
    status = job.status
    since = status.requeued_at or job.queued_at
    found: dict[str, float] = {}
    if status.placed_at is not None:
        built = status.environment_at
        found["environment"] = (built - since).total_seconds() if built else 0.0
        found["place"] = (status.placed_at - (built or since)).total_seconds()
    if status.placed_at is not None and status.filled_at is not None:
        found["fill"] = (status.filled_at - status.placed_at).total_seconds()
    if status.filled_at is not None and status.started_at is not None:
        found["prepare"] = (status.started_at - status.filled_at).total_seconds()
    if replica.ready_at is not None and replica.state is not ReplicaState.STARTING:
        load, warm_up = (float(replica.ready.get(key) or 0.0) for key in ("load_s", "warmup_s"))
        found |= {"load": load, "warm_up": warm_up}
        if status.started_at is not None:
            found["ready"] = max(0.0, (replica.ready_at - status.started_at).total_seconds())
    return {key: round(max(0.0, value), 3) for key, value in found.items()}


def _addresses(endpoint: Endpoint, places: Sequence[Site]) -> Mapping[str, Mapping[str, str]]:
    """By site, where its routers listen: on their own machine only, where nobody set an address."""
    found: dict[str, Mapping[str, str]] = {}
    for site, _ in sites_of(endpoint.spec, places):
        host = site.serving.host if site.serving else "127.0.0.1"
        scheme = "https" if site.serving and site.serving.tls_cert else "http"
        ports = endpoint.spec.ports
        found[site.name] = {
            "http": f"{scheme}://{host}:{ports.http}",
            "grpc": f"{host}:{ports.grpc}",
            "metrics": f"{scheme}://{host}:{ports.metrics}/metrics",
        }
    return found
