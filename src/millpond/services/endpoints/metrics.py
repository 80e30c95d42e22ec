"""Requests of endpoints over time: what routers counted is sampled, kept for two weeks, and shown by version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from millpond.db import endpoint_samples, endpoints, jobs, replicas
from millpond.db.endpoint_samples import StoredSample
from millpond.decide.endpoints.counts import counts_of
from millpond.decide.endpoints.history import CountSample, history
from millpond.model.endpoint import Endpoint, EndpointPoint
from millpond.model.people import Project
from millpond.services.deps import Deps
from millpond.services.people import access

SAMPLE_SECONDS = 15
MOST_POINTS = 1000
_KEPT = timedelta(days=14)
# A router that says nothing for so long is gone, or its agent is away: it is sampled again when it tells of itself.
FRESH = timedelta(seconds=3 * SAMPLE_SECONDS)


def sample_all(deps: Deps, now: datetime) -> int:
    """Keep what the routers of all endpoints have counted by now; how many samples."""
    at = datetime.fromtimestamp(int(now.timestamp()) // SAMPLE_SECONDS * SAMPLE_SECONDS, UTC)
    with deps.db.read() as tx:
        routers = replicas.routers(tx)
        known = jobs.by_ids(tx, {one.job_id for one in routers if one.job_id})
        placed = {job.status.placement_id: job.project_id for job in known.values() if job.status.placement_id}
        told = {key: one for key, one in replicas.reports(tx, placed.keys()).items() if one.at >= now - FRESH}
        living = endpoints.all_of(tx) if told else ()
    found: dict[str, list[StoredSample]] = {}
    for placement_id, report in told.items():
        for endpoint in living:
            if endpoint.project_id == placed[placement_id] and (part := _part(report.stats, endpoint.id)):
                found.setdefault(endpoint.id, []).append(StoredSample(placement_id, at, part))
    if found:
        with deps.db.write() as tx:
            for endpoint_id, samples in found.items():
                endpoint_samples.add(tx, endpoint_id, samples)
            endpoint_samples.forget(tx, now - _KEPT)
    return sum(map(len, found.values()))


def metrics(
    deps: Deps, project: Project, written: str, *, since: timedelta, step_seconds: int | None = None
) -> tuple[int, list[EndpointPoint]]:
    """The step in seconds, and its points. Without one, about a hundred steps. NotFound without such an endpoint."""
    now = deps.clock.now()
    begin = now - min(since, _KEPT)
    step = max(step_seconds or int(since.total_seconds()) // 100, int(since.total_seconds()) // MOST_POINTS)
    step = max(1, round(step / SAMPLE_SECONDS)) * SAMPLE_SECONDS
    with deps.db.read() as tx:
        endpoint = endpoints.find(tx, project.id, written)
        if endpoint is None:
            raise access.not_found("endpoint", written)
        # One step earlier, to know what had been counted when it begins.
        stored = endpoint_samples.since(tx, endpoint.id, begin - timedelta(seconds=4 * SAMPLE_SECONDS))
    samples = count_samples(endpoint, stored)
    return step, history(samples, begin=begin, step_seconds=step, served=endpoint.spec.served)


def _part(stats: Mapping[str, Any] | None, endpoint_id: str) -> dict[str, Any] | None:
    """Of a router's report what concerns this endpoint, in its own form."""
    if stats is None or counts_of(stats, endpoint_id) is None:
        return None
    mine = [one for one in stats["endpoints"] if one.get("id") == endpoint_id]
    return {**{key: stats.get(key) for key in ("since", "started", "bounds_s")}, "endpoints": mine}


def count_samples(endpoint: Endpoint, stored: Sequence[StoredSample]) -> list[CountSample]:
    """In the same order, without those that cannot be used."""
    found = []
    for one in stored:
        counts, started = counts_of(one.stats, endpoint.id), one.stats.get("started")
        if counts is None or not isinstance(started, int | float) or not 0 <= started < 1e11:
            continue
        ready = {
            f"{version['model']}@{version['version']}": int(version.get("replicas_ready") or 0)
            for version in one.stats["endpoints"][0]["versions"]
        }
        found.append(CountSample(one.placement_id, one.at, datetime.fromtimestamp(started, UTC), counts, ready))
    return found
