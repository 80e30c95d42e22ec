"""Sites, links, topology, usage and their numbers for Prometheus, over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest

from millpond.db import caches
from millpond.model.cached_state import CachedState
from millpond.model.people import Role
from millpond.services.places import volume_usage
from millpond.testing.builders_work import add_agent, add_commit, add_volume
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer


@pytest.fixture
def _world(server: RunningServer, clock: FakeClock) -> None:
    add_agent(server.deps.db, "gpu", now=clock.now())
    add_volume(server.deps.db, "fast", now=clock.now(), capacity_bytes=100 * 10**9)
    server.admin.post("/sites", json={"name": "paris"})
    server.admin.put("/links/lake/paris", json={"bits_per_second": 10**9, "price_per_gb": 0.09})


@pytest.mark.usefixtures("_world")
def test_everybody_sees_the_topology_and_administrators_change_it(server: RunningServer) -> None:
    maria = server.user("maria")
    found = maria.get("/topology").json()
    assert [site["name"] for site in found["sites"]] == ["local", "paris"]
    assert [volume["volume"]["name"] for volume in found["volumes"]] == ["fast"]
    assert found["computes"][0]["volumes"] == [
        {"volume": "fast", "near": True, "seen": True, "serves": True, "reason": "both are at site local"}
    ]
    assert (found["near_bits_per_second"], found["near_latency_ms"]) == (10**10, 5.0)
    assert maria.get("/links").json()["items"][0]["reason"] == "commits come from the lake"
    assert maria.get("/sites/local").json()["computes"] == ["gpu"]
    for refused in (
        maria.put("/links/local/paris", json={}),
        maria.delete("/links/lake/paris"),
        maria.delete("/sites/paris"),
    ):
        assert refused.status_code == 403


@pytest.mark.usefixtures("_world")
def test_what_is_wrong_is_said(server: RunningServer) -> None:
    admin = server.admin
    assert admin.put("/links/paris/paris", json={}).status_code == 400
    assert admin.put("/links/paris/rome", json={}).status_code == 404
    assert admin.put("/links/paris/local", json={"bits_per_second": 0}).status_code == 422
    assert admin.delete("/links/paris/local").status_code == 404
    assert admin.delete("/sites/local").json()["code"] == "in_use"
    assert admin.delete("/sites/paris").status_code == 204
    assert admin.get("/links").json()["items"] == []
    assert admin.get("/volumes/nothing/usage").status_code == 404
    assert admin.get("/volumes/fast/usage?from=yesterday").status_code == 422


@pytest.mark.usefixtures("_world")
def test_usage_of_a_time(server: RunningServer, clock: FakeClock) -> None:
    start = clock.now()
    for _ in range(3):
        volume_usage.sample_all(server.deps, clock.now())
        clock.advance(60)
    maria = server.user("maria")
    found = maria.get("/volumes/fast/usage").json()
    assert (found["step_seconds"], len(found["samples"])) == (60, 3)
    asked = {"from": (start + timedelta(seconds=60)).isoformat(), "to": (start + timedelta(seconds=90)).isoformat()}
    (sample,) = maria.get("/volumes/fast/usage", params=asked).json()["samples"]
    assert (sample["capacity_bytes"], sample["used_bytes"], sample["free_bytes"]) == (100 * 10**9, 0, 100 * 10**9)


@pytest.mark.usefixtures("_world")
def test_asking_near_a_compute_and_what_is_told_of_it(server: RunningServer) -> None:
    maria, eve = server.user("maria", roles={"default": Role.MEMBER}), server.user("eve")
    add_commit(server.deps.db, "xray", size=10**9)
    added = maria.post("/caches", json={"dataset": "xray", "near": "gpu"}).json()
    assert added["cached"]["volume"] == "fast"
    assert "near: both are at site local" in added["reasons"]
    assert maria.post("/caches", json={"dataset": "xray", "near": "tpu"}).status_code == 404
    maria.post("/caches", json={"dataset": "xray"})
    mine, others = maria.get("/caches/summary").json(), eve.get("/caches/summary").json()
    assert (mine["total"]["hits"], mine["total"]["misses"], len(mine["fills"])) == (0, 1, 1)
    assert (others["total"]["hits"], others["total"]["misses"], others["fills"]) == (0, 0, [])
    assert others["volumes"] == 1


@pytest.mark.usefixtures("_world")
def test_numbers_for_prometheus(server: RunningServer) -> None:
    for name in ("xray", "whole"):
        add_commit(server.deps.db, name, size=10**9)
    maria = server.user("maria", roles={"default": Role.MEMBER})
    whole = maria.post("/caches", json={"dataset": "whole"}).json()["cached"]["id"]
    with server.deps.db.write() as tx:
        caches.change(tx, whole, state=CachedState.READY, ready_at=server.deps.clock.now())
    for name in ("whole", "whole", "xray", "xray"):
        maria.post("/caches", json={"dataset": name})
    maria.post(f"/caches/{whole}/pin")
    for _ in range(2):
        maria.post(f"/caches/{whole}/hold", json={"seconds": 60})
    text = server.client().get(f"{server.url}/metrics").text
    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    expected = {
        'millpond_volume_capacity_bytes{site="local",volume="fast"}': 100e9,
        'millpond_volume_reserved_bytes{site="local",volume="fast"}': 1e9,
        'millpond_volume_free_bytes{site="local",volume="fast"}': 98e9,
        'millpond_volume_connected{site="local",volume="fast"}': 1,
        'millpond_volume_pinned_commits{site="local",volume="fast"}': 1,
        'millpond_volume_leased_commits{site="local",volume="fast"}': 1,
        'millpond_volume_leftover_bytes{site="local",volume="fast"}': 0,
        'millpond_cache_hits_total{volume="fast"}': 2,
        'millpond_cache_misses_total{volume="fast"}': 2,
        'millpond_cache_saved_bytes_total{volume="fast"}': 2e9,
        'millpond_cache_fills_running{volume="fast"}': 1,
        'millpond_cache_fill_bytes_per_second{volume="fast"}': 0,
    }
    assert {name: float(found[name]) for name in expected} == expected
    assert "xray" not in text and "maria" not in text
