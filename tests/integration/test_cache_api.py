"""Caches over HTTP and from Python: a hundred who ask at once, waiting, reading as use, what strangers are told."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Timer

import pytest

import millpond
from millpond.errors import DoesNotFit, NotReady
from millpond.model.job import Agent
from millpond.model.people import Role
from millpond.services import cache_reports, desired_fills
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
    with pytest.raises(DoesNotFit, match="nfs can give"):
        millpond.cache(f"xray@{big.id}", on="nfs")


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
    with millpond.Dataset("xray") as dataset:
        assert dataset.path() == folder
    (holder,) = cached.refresh().info.leased_by
    assert (holder.user, holder.kind.value) == ("admin", "read")
    assert holder.until is not None
    cached.close()


def test_a_plan_names_others_commits_to_nobody(server: RunningServer, agent: Agent) -> None:
    a_commit(server.deps, {"a.txt": b"a" * 10_000})
    cached = millpond.cache("xray", on="nfs")
    carry_out(server.deps, agent)
    eve = server.user("eve")
    (plan,) = eve.get("/cache-plan").json()["items"]
    assert cached.info.commit_id not in str(plan)
    assert "xray" not in str(plan)
    assert plan["goes"][0]["dataset"] == "a commit of another project"
    assert eve.get("/cache-why", params={"dataset": "default/xray"}).status_code == 404
    assert eve.get("/cache-policies").json()["items"] == []
    vera = server.user("vera", roles={"default": Role.VIEWER})
    assert vera.get("/cache-why", params={"dataset": "default/xray"}).json()["volumes"][0]["cached"]["id"]
    assert vera.post(f"/caches/{cached.info.id}/verify").status_code == 403
    assert vera.post(f"/caches/{cached.info.id}/hold", json={"kind": "read"}).status_code == 200
    cached.close()
