"""Caches over HTTP and from Python: a hundred who ask at once, waiting, reading as use, what strangers are told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from threading import Barrier, Timer

import pytest

import millpond
from millpond.errors import BadName, BadRequest, DoesNotFit, NotFound, NotReady
from millpond.model.agent import Agent
from millpond.model.people import Role
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.testing.builders_data import (
    GB,
    a_commit,
    a_dataset,
    a_sized_commit,
    a_volume,
    an_agent,
    carry_out,
    sees,
    the_volume,
)
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until

ASKING = 100


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    with running_server(tmp_path / "server") as running:
        monkeypatch.setenv("MILL_SERVER", running.url)
        monkeypatch.setenv("MILL_TOKEN", running.token_of("admin"))
        monkeypatch.setenv("MILL_CONFIG_DIR", str(tmp_path / "config"))
        yield running


@pytest.fixture
def agent(server: RunningServer) -> Agent:
    agent = an_agent(server.deps)
    a_volume(server.deps, agent, capacity=10 * GB, reserve_bytes=0)
    return agent


def test_a_hundred_who_ask_at_once_start_one_fill(server: RunningServer, agent: Agent) -> None:
    a_commit(server.deps, {"a.txt": b"a" * 10_000})
    together = Barrier(ASKING)

    def ask(_: int) -> tuple[int, bool]:
        together.wait()
        answer = server.admin.post("/caches", json={"dataset": "default/xray", "volume": "nfs"}, timeout=60)
        return answer.status_code, answer.json()["started"]

    with ThreadPoolExecutor(ASKING) as pool:
        answers = list(pool.map(ask, range(ASKING)))
    assert sorted(answers) == [(201, False)] * (ASKING - 1) + [(201, True)]
    _, fills = desired_fills.desired_for(server.deps, agent)
    assert len(fills) == 1


def test_a_script_asks_waits_and_holds(server: RunningServer, agent: Agent) -> None:
    commit = a_commit(server.deps, {"a.txt": b"a" * 10_000})
    with millpond.cache("xray", on="nfs") as cached:
        assert (cached.started, cached.state, cached.volume) == (True, "filling", "nfs")
        with pytest.raises(NotReady):
            _ = cached.path
        with pytest.raises(NotReady, match="after 0 s"):
            cached.wait(timeout=0)
        told: list[tuple[int, int]] = []
        Timer(0.2, carry_out, (server.deps, agent)).start()
        cached.wait(timeout=30, progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (10_000, 10_000)
        assert (cached.progress, cached.path.name) == (1.0, commit.id)
        (holder,) = cached.hold("2h", why="looking").info.leased_by
        assert (holder.user, holder.reason) == ("admin", "looking")
        assert cached.release().info.leased_by == []
        assert cached.pin().info.pinned_by == "admin"
        assert not millpond.cache("xray", on="nfs").started
    big = a_sized_commit(server.deps, a_dataset(server.deps), size=11 * GB)
    with pytest.raises(DoesNotFit, match="nfs can hold"):
        millpond.cache(f"xray@{big.id}", on="nfs")


def test_a_script_is_told_what_is_wrong_with_a_time_or_a_name(server: RunningServer, agent: Agent) -> None:
    a_commit(server.deps, {"a.txt": b"a"})
    for idle in ("0s", "40000d", "soon"):
        with pytest.raises(BadRequest, match=idle):
            millpond.cache("xray", on="nfs", idle=idle)
    with pytest.raises(BadName, match=r"'xray@main:a\.txt' includes a path"):
        millpond.cache("xray@main:a.txt", on="nfs")
    with millpond.cache("xray", on="nfs") as cached, pytest.raises(BadRequest, match="'90d' is too long"):
        cached.hold("90d")


def test_a_script_that_clears_waits_until_it_is_gone(server: RunningServer, agent: Agent) -> None:
    a_commit(server.deps, {"a.txt": b"a"})
    with millpond.cache("xray", on="nfs") as cached:
        carry_out(server.deps, agent)
        Timer(0.2, carry_out, (server.deps, agent)).start()
        cached.wait(timeout=30).clear()
        assert cached.state == "evicting"
        with pytest.raises(NotFound):
            cached.refresh()


def test_an_idle_time_beyond_all_dates_is_refused(server: RunningServer, agent: Agent) -> None:
    a_commit(server.deps, {"a.txt": b"a"})
    with millpond.cache("xray", on="nfs") as cached:
        carry_out(server.deps, agent)
        for route, name in (
            (f"/caches/{cached.info.id}", "idle_seconds"),
            ("/volumes/nfs", "idle_seconds"),
            ("/projects/default/datasets/xray", "cache_idle_seconds"),
        ):
            assert server.admin.patch(route, json={name: 10**15}).status_code == 422, route
            assert server.admin.patch(route, json={name: 36_500 * 86_400}).status_code == 200, route
            assert server.admin.get("/caches").json()["items"][0]["expires_at"].startswith("21"), route
        assert server.admin.get("/cache-plan").status_code == 200


def test_whoever_waits_is_answered_when_it_is_whole(server: RunningServer, agent: Agent) -> None:
    a_commit(server.deps, {"a.txt": b"a" * 10_000})
    asked = server.admin.post("/caches", json={"dataset": "default/xray", "volume": "nfs"}).json()["cached"]
    path = f"/caches/{asked['id']}"
    assert server.admin.get(path, params={"wait": 0.1}).json()["state"] == "filling"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(server.admin.get, path, params={"wait": 20}, timeout=60)
        carry_out(server.deps, agent)
        assert waiting.result().json()["state"] == "ready"
    assert server.admin.get(path, params={"wait": 21}).status_code == 422


def test_reading_through_the_sdk_holds_what_it_found_on_a_volume(
    server: RunningServer, agent: Agent, tmp_path: Path
) -> None:
    a_commit(server.deps, {"a.txt": b"a"})
    body = {"name": "here", "path": str(tmp_path / "volume"), "site": agent.site, "capacity_bytes": GB}
    assert server.admin.post("/volumes", json=body).status_code == 201
    cache_reports.observe_volumes(server.deps, agent, [sees(the_volume(server.deps, "here"), free=GB)])
    cached = millpond.cache("xray", on="here")
    carry_out(server.deps, agent)
    folder = Path(cached.refresh().info.path)
    folder.mkdir(parents=True)
    first, second = millpond.Dataset("xray"), millpond.Dataset("xray")
    with second:
        assert [first.path(), first.path(), second.path()] == [folder] * 3
        holders = cached.refresh().info.leased_by
        assert [(holder.user, holder.kind.value) for holder in holders] == [("admin", "read")] * 2, "one for each"
        assert all(holder.until - holder.since <= timedelta(minutes=15) for holder in holders if holder.until)
    assert len(cached.refresh().info.leased_by) == 1, "each ends its own"
    first.close()
    assert cached.refresh().info.leased_by == []
    cached.close()


def test_a_reader_renews_its_lease_and_gives_it_back_when_its_process_ends(
    server: RunningServer, agent: Agent, tmp_path: Path
) -> None:
    a_commit(server.deps, {"a.txt": b"a"})
    body = {"name": "here", "path": str(tmp_path / "volume"), "site": agent.site, "capacity_bytes": GB}
    assert server.admin.post("/volumes", json=body).status_code == 201
    cache_reports.observe_volumes(server.deps, agent, [sees(the_volume(server.deps, "here"), free=GB)])
    with millpond.cache("xray", on="here") as cached:
        carry_out(server.deps, agent)
        Path(cached.refresh().info.path).mkdir(parents=True)
        # The object is lost at once: what was found is still being read.
        script = """
import millpond, millpond.client.read_lease as leases
leases.RENEW_SECONDS = 0.05
print(millpond.Dataset("xray").path(), flush=True)
input()
"""
        command = [sys.executable, "-c", script]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == cached.info.path
            first = until(cached)
            wait_until(lambda: until(cached) > first, what="a lease that is renewed", within=60)
            process.communicate("\n", timeout=60)
        assert cached.refresh().info.leased_by == []


def until(cached: millpond.Cached) -> datetime:
    (holder,) = cached.refresh().info.leased_by
    assert holder.until is not None
    return holder.until


def test_looking_at_files_in_the_page_holds_them_and_does_not_stand_in_ones_own_way(
    server: RunningServer, agent: Agent
) -> None:
    commit = a_commit(server.deps, {"a.txt": b"a"})
    with millpond.cache("xray", on="nfs") as cached:
        carry_out(server.deps, agent)
        vera = server.user("vera", roles={"default": Role.VIEWER})
        for client in (server.admin, server.admin, vera):
            assert client.get(f"/projects/default/datasets/xray/commits/{commit.id}/entries").status_code == 200
        assert [holder.user for holder in cached.refresh().info.leased_by] == ["admin", "vera"]
        refused = server.admin.delete(f"/caches/{cached.info.id}")
        assert refused.status_code == 409
        assert "in use by vera (reads it until " in refused.text
        assert vera.delete(f"/caches/{cached.info.id}/hold").status_code == 200
        assert server.admin.delete(f"/caches/{cached.info.id}").status_code == 204


def test_a_plan_names_others_commits_to_nobody(server: RunningServer, agent: Agent) -> None:
    a_commit(server.deps, {"a.txt": b"a" * 10_000})
    cached = millpond.cache("xray", on="nfs")
    carry_out(server.deps, agent)
    eve = server.user("eve")
    (plan,) = eve.get("/cache-plan").json()["items"]
    assert cached.info.commit_id not in str(plan)
    assert "xray" not in str(plan)
    assert (plan["goes"], plan["stays"]) == ([], []), "neither names nor sizes"
    assert eve.get("/cache-why", params={"dataset": "default/xray"}).status_code == 404
    assert eve.get("/cache-policies").json()["items"] == []
    vera = server.user("vera", roles={"default": Role.VIEWER})
    assert vera.get("/cache-why", params={"dataset": "default/xray"}).json()["volumes"][0]["cached"]["id"]
    assert vera.post(f"/caches/{cached.info.id}/verify").status_code == 403
    assert vera.post(f"/caches/{cached.info.id}/hold", json={"kind": "read"}).status_code == 200
    cached.close()
