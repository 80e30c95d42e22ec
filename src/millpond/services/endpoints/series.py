"""What routers counted lately, by endpoint, router and version: the server's own series for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from millpond.db import endpoint_analyses, endpoint_samples, endpoints, jobs, models, replicas
from millpond.decide.endpoints.counts import VersionCounts
from millpond.decide.endpoints.history import CountSample, history
from millpond.model.endpoint import Endpoint, EndpointPoint
from millpond.model.endpoint_analysis import AnalysisKind
from millpond.model.replica import Router
from millpond.services.deps import Deps
from millpond.services.endpoints.metrics import FRESH, SAMPLE_SECONDS, count_samples


@dataclass(frozen=True, slots=True)
class VersionSeries:
    """`counts` grow while the router's process lives; `newest` is what its last step had."""

    model_id: str
    number: str
    counts: VersionCounts
    newest: EndpointPoint


@dataclass(frozen=True, slots=True)
class EndpointSeries:
    """Of one endpoint at one router."""

    endpoint: Endpoint
    router: Router
    held: int
    versions: Sequence[VersionSeries]


@dataclass(frozen=True, slots=True)
class DriftSeries:
    """Of the newest window that was compared. Columns have no names here: names are not for everybody."""

    endpoint: Endpoint
    alerts: int
    psi: Mapping[str, float]


def drift_series(deps: Deps) -> list[DriftSeries]:
    """Of every endpoint that has a reference."""
    with deps.db.read() as tx:
        watched = {one.id: one for one in endpoints.all_of(tx) if one.spec.drift is not None}
        found = endpoint_analyses.newest(tx, watched.keys(), AnalysisKind.DRIFT) if watched else {}
    return [DriftSeries(watched[key], len(one.alerts), _by_place(one.report)) for key, one in found.items()]


def _by_place(report: Mapping[str, Any]) -> dict[str, float]:
    """PSI by `inputs-0`, `inputs-1` … and `outputs-0` …, in the order of the columns' names."""
    found: dict[str, float] = {}
    for side in ("inputs", "outputs"):
        mine = sorted(name for name in report.get("columns", {}) if name.startswith(f"{side}."))
        found |= {f"{side}-{place}": report["columns"][name]["psi"] for place, name in enumerate(mine)}
    return found


def series(deps: Deps) -> list[EndpointSeries]:
    """Of every endpoint at every router that told of itself lately."""
    begin = deps.clock.now() - FRESH
    with deps.db.read() as tx:
        routers = {one.job_id: one for one in replicas.routers(tx) if one.job_id}
        placed = {
            job.status.placement_id: routers[job.id]
            for job in jobs.by_ids(tx, routers.keys()).values()
            if job.status.placement_id
        }
        living = {one.id: one for one in endpoints.all_of(tx)} if placed else {}
        stored = endpoint_samples.of_routers(tx, living.keys(), placed.keys(), begin)
        counted = {key: count_samples(living[key[0]], samples) for key, samples in stored.items()}
        model_ids = {key: _model_ids(tx, living[key[0]], told) for key, told in counted.items()}
    found = []
    for key, told in counted.items():
        endpoint, router = living[key[0]], placed[key[1]]
        if told:
            versions = list(_versions(endpoint, told, begin, model_ids[key]))
            found.append(EndpointSeries(endpoint, router, told[-1].counts.held, versions))
    return found


def _model_ids(tx: Connection, endpoint: Endpoint, samples: Sequence[CountSample]) -> Mapping[str, str]:
    names = {version.rpartition("@")[0] for one in samples for version in one.counts.versions}
    found = (models.find(tx, endpoint.project_id, name) for name in sorted(names))
    return {model.name: model.dataset.id for model in found if model is not None}


def _versions(
    endpoint: Endpoint, samples: Sequence[CountSample], begin: datetime, model_ids: Mapping[str, str]
) -> Iterator[VersionSeries]:
    found = history(samples, begin=begin, step_seconds=SAMPLE_SECONDS, served=endpoint.spec.served)
    points = {one.version: one for one in found}
    for version, counts in samples[-1].counts.versions.items():
        name, _, number = version.rpartition("@")
        # Without its id there is no label that tells it from another model; one that is not served has ended.
        if name in model_ids and version in points:
            yield VersionSeries(model_ids[name], number, counts, points[version])
