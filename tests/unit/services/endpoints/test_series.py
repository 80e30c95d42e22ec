"""Endpoints in the server's own numbers for Prometheus: by site and version, without a name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from millpond.api.metrics.endpoints import EndpointCollector
from millpond.services.endpoints import endpoints, metrics
from millpond.wire.observed import PlacementSeen, ServiceSeen
from tests.unit.services.endpoints.test_endpoints import create
from tests.unit.services.endpoints.test_request_logs import placement_of
from tests.unit.services.endpoints.test_rounds import Serving
from tests.unit.services.world import World


@pytest.fixture
def serving(world: World, model: str) -> Iterator[Serving]:
    create(world, environment="none")
    found = Serving(world)
    found.turn(3)
    yield found


def count(serving: Serving, requests: int, *models: str) -> None:
    world = serving.world
    versions = [
        {
            "model": model, "version": 1, "requests": requests, "errors": {"500": 2}, "latency": [requests, 0],
            "replicas_ready": 1, "outstanding": 3,
            "batches": {"sizes": [0, 0, requests // 10], "rows": requests, "queued": requests, "queue_sum_s": 0.5},
        }
        for model in models
    ]  # fmt: skip
    told = {"id": endpoints.get(world.deps, world.project, "xray").endpoint.id, "held": 4, "versions": versions}
    started = world.clock.now().timestamp() - 1000
    stats = {"since": "s", "started": started, "bounds_s": [0.01], "endpoints": [told]}
    world.sync(PlacementSeen(id=placement_of(serving), state="running", service=ServiceSeen(stats=stats)))
    metrics.sample_all(world.deps, world.clock.now())


def scraped(serving: Serving) -> dict[str, list[float]]:
    """Values by metric, and by quantile where it has one. The site is always told."""
    registry = CollectorRegistry()
    registry.register(EndpointCollector(serving.world.deps))
    text = generate_latest(registry)
    assert b"xray" not in text and b"chest" not in text
    found: dict[str, list[float]] = {}
    for family in registry.collect():
        for sample in family.samples:
            assert sample.labels["site"] == serving.world.agent.agent.site
            assert sample.labels["project_id"] == serving.world.project.id
            found.setdefault(sample.name + sample.labels.get("quantile", ""), []).append(sample.value)
    return found


def test_endpoints_are_told_by_site_and_version(serving: Serving) -> None:
    count(serving, 30, "chest")
    serving.world.clock.advance(15)
    count(serving, 130, "chest", "a-model-that-is-gone")
    found = scraped(serving)
    for name in ("0.5", "0.95", "0.99"):
        assert 0 < found.pop(f"millpond_endpoint_latency_seconds{name}")[0] <= 0.01
    assert found == {
        "millpond_endpoint_requests_total": [130],
        "millpond_endpoint_errors_total": [2],
        "millpond_endpoint_outstanding": [3],
        "millpond_endpoint_replicas_ready": [1],
        "millpond_endpoint_held": [4],
        "millpond_endpoint_batches_total": [13],
        "millpond_endpoint_batch_rows_total": [130],
        "millpond_endpoint_queued_total": [130],
        "millpond_endpoint_queue_seconds_total": [0.5],
    }


def test_no_answers_have_no_latency_and_a_silent_router_has_nothing(serving: Serving) -> None:
    count(serving, 30, "chest")
    serving.world.clock.advance(15)
    count(serving, 30, "chest")
    assert "millpond_endpoint_latency_seconds0.5" not in scraped(serving)
    serving.world.clock.advance(600)
    assert scraped(serving) == {}
