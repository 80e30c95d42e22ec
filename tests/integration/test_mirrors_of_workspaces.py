"""Mirrors of workspaces, and to volumes of other sites: step by step, as agents get on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.db import caches, mirrors, volumes, workspace_snapshots, workspaces
from millpond.model.agent import Agent
from millpond.model.cached_state import CachedState
from millpond.model.names import WORKSPACE_DATASET
from millpond.model.people import Role, TokenKind
from millpond.services.caches import keepers
from millpond.services.caches.fills import desired as desired_fills
from millpond.services.caches.fills import reports as cache_reports
from millpond.services.mirrors import lag, rounds
from millpond.services.people import tokens
from millpond.services.workspaces import schedules
from millpond.testing.builders_data import GB, a_commit, a_volume, an_agent, carry_out, told
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer, running_server
from millpond.testing.workspaces import WorkspaceDisk

ALL = "/projects/default/mirrors"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def server(tmp_path: Path, clock: FakeClock) -> Iterator[RunningServer]:
    with running_server(tmp_path / "server", clock=clock) as running:
        yield running


@pytest.fixture
def far(server: RunningServer) -> Agent:
    agent = an_agent(server.deps, "far")
    a_volume(server.deps, agent, "far-nfs", capacity=10 * GB, reserve_bytes=0)
    return agent


@pytest.fixture
def disk(server: RunningServer, tmp_path: Path) -> WorkspaceDisk:
    agent = an_agent(server.deps, "lab")
    a_volume(server.deps, agent, "lab-nfs", capacity=10 * GB, reserve_bytes=0)
    return WorkspaceDisk(server, agent, tmp_path / "volume")


@pytest.fixture
def ada(server: RunningServer) -> httpx.Client:
    return server.user("ada", roles={"default": Role.MEMBER})


def ask(client: httpx.Client, method: str, path: str = "", **body: Any) -> dict[str, Any]:
    answer = client.request(method, f"{ALL}{path}", json=body or None)
    assert answer.is_success, answer.text
    return dict(answer.json()) if answer.content else {}


def look(server: RunningServer, clock: FakeClock) -> None:
    """As the loop does after a moment."""
    clock.advance(rounds.LOOK_AGAIN.total_seconds())
    rounds.run_due(server.deps, clock.now())


def cached_on(server: RunningServer, commit_id: str) -> str | None:
    with server.deps.db.read() as tx:
        found = caches.of_commits(tx, [commit_id])
    return found[0].cached.state.value if found else None


def a_workspace(ada: httpx.Client, disk: WorkspaceDisk, name: str = "lab") -> Path:
    made = ada.post(
        "/projects/default/workspaces", json={"name": name, "size_bytes": GB, "volume": "lab-nfs"}
    )  # fmt: skip
    assert made.status_code == 201, made.text
    disk.carry_out()
    tree = disk.tree(made.json()["id"])
    (tree / "a.txt").write_bytes(b"one")
    return tree


def test_the_newest_commit_is_cached_at_another_site(
    server: RunningServer, clock: FakeClock, far: Agent, ada: httpx.Client
) -> None:
    first = a_commit(server.deps, {"a": b"1"})
    mirror = ask(ada, "POST", source="xray", target="far", every_seconds=3600)
    assert (mirror["site"], mirror["volume"], mirror["target"]) == ("far", "far-nfs", "far, volume far-nfs")
    rounds.run_due(server.deps, clock.now())
    shown = ask(ada, "GET", "/xray")
    assert shown["state"] == "running" and "far-nfs" in shown["progress"]
    carry_out(server.deps, far)
    look(server, clock)
    shown = ask(ada, "GET", "/xray")
    assert (shown["state"], shown["commit_id"], shown["result"]["copied"]) == ("waiting", first.id, 1)

    second = a_commit(server.deps, {"a": b"1", "b": b"22"})
    lag.count_all(server.deps, clock.now())
    assert {**ask(ada, "GET", "/xray")["lag"], "seconds": 0} == {"commits": 1, "bytes": 2, "seconds": 0}
    clock.advance(timedelta(hours=1).total_seconds())
    rounds.run_due(server.deps, clock.now())
    assert cached_on(server, second.id) == "filling" and cached_on(server, first.id) == "ready"
    assert kept_at(server, far).keys() == {first.id, second.id}, "the one before stays until the next is there"
    carry_out(server.deps, far)
    look(server, clock)
    assert ask(ada, "GET", "/xray")["commit_id"] == second.id
    assert kept_at(server, far) == {second.id: "mirror xray"}, "the one before ages from here on"
    cached_id = ask_caches(ada, second.id)
    refused = ada.delete(f"/caches/{cached_id}")
    assert refused.status_code == 409 and "kept there by mirror 'xray'" in refused.text
    assert ada.delete(f"{ALL}/xray").status_code == 204
    assert ada.delete(f"/caches/{cached_id}").is_success


def kept_at(server: RunningServer, far: Agent) -> dict[str, str]:
    with server.deps.db.read() as tx:
        (volume,) = volumes.all_of(tx, far.site_id)
        return dict(keepers.kept_on(tx, volume.id))


def ask_caches(client: httpx.Client, commit_id: str) -> str:
    items = client.get("/caches", params={"dataset": "default/xray"}).json()["items"]
    return next(str(one["id"]) for one in items if one["commit_id"] == commit_id)


def test_a_fill_that_fails_or_does_not_fit_is_told_and_tried_again(
    server: RunningServer, clock: FakeClock, far: Agent, ada: httpx.Client
) -> None:
    a_commit(server.deps, {"a": b"1"})
    ask(ada, "POST", source="xray", target="far")
    rounds.run_due(server.deps, clock.now())
    _, (fill,) = desired_fills.desired_for(server.deps, far)
    cache_reports.observe_fills(server.deps, far, [told(fill, "failed", problem="No space left on device")])
    look(server, clock)
    failed = ask(ada, "GET", "/xray")
    assert failed["state"] == "failing" and "No space left on device" in failed["problem"]
    clock.advance(timedelta(minutes=1).total_seconds())
    rounds.run_due(server.deps, clock.now())
    carry_out(server.deps, far)
    look(server, clock)
    assert ask(ada, "GET", "/xray")["problem"] is None


def test_a_dry_run_tells_what_a_site_would_fetch(server: RunningServer, far: Agent, ada: httpx.Client) -> None:
    commit = a_commit(server.deps, {"a": b"1", "b": b"22"})
    planned = ask(ada, "POST", "/plan", source="xray", target="far")
    assert (planned["dry_run"], planned["copied"], planned["copied_bytes"]) == (True, 2, 3)
    assert cached_on(server, commit.id) is None
    assert ask(ada, "GET")["items"] == []


def test_a_workspace_is_snapshotted_kept_and_cached_at_another_site(
    server: RunningServer, clock: FakeClock, far: Agent, disk: WorkspaceDisk, ada: httpx.Client
) -> None:
    tree = a_workspace(ada, disk)
    mirror = ask(ada, "POST", source="lab", target="far")
    assert (mirror["workspace"], mirror["label"], mirror["source"]) == ("lab", None, "lab")
    rounds.run_due(server.deps, clock.now())
    shown = ask(ada, "GET", "/lab")
    assert shown["state"] == "running" and "is being taken" in shown["progress"]
    disk.carry_out()
    look(server, clock)
    carry_out(server.deps, far)
    look(server, clock)
    shown = ask(ada, "GET", "/lab")
    assert shown["state"] == "waiting" and shown["problem"] is None
    assert cached_on(server, shown["commit_id"]) == "ready"
    for text in (b"two", b"three", b"four"):
        (tree / "a.txt").write_bytes(text)
        clock.advance(timedelta(hours=1).total_seconds())
        rounds.run_due(server.deps, clock.now())
        disk.carry_out()
        look(server, clock)
        carry_out(server.deps, far)
        look(server, clock)
        schedules.apply_rules(server.deps, clock.now())
    taken = ada.get("/projects/default/workspaces/lab/snapshots").json()["items"]
    assert [one["name"].startswith("mirror-lab.") for one in taken] == [True, True], "only the newest two are kept"
    plan = ada.post(
        "/projects/default/workspaces/plan",
        json={"name": "there", "clone": f"lab@{taken[0]['name']}", "volume": "far-nfs"},
    )
    assert plan.is_success and "far-nfs" in plan.text


def test_the_agent_that_is_to_have_a_snapshot_may_read_it(
    server: RunningServer, clock: FakeClock, far: Agent, disk: WorkspaceDisk, ada: httpx.Client
) -> None:
    a_workspace(ada, disk)
    ask(ada, "POST", source="lab", target="far")
    rounds.run_due(server.deps, clock.now())
    disk.carry_out()
    (taken,) = ada.get("/projects/default/workspaces/lab/snapshots").json()["items"]
    commit = f"/projects/default/datasets/{WORKSPACE_DATASET}/commits/{taken['commit']}"
    agents = {one.id: agent_client(server, one) for one in (far, disk.agent)}
    assert {one.get(commit).status_code for one in agents.values()} == {404}
    look(server, clock)
    assert cached_on(server, taken["commit"]) == "filling"
    assert agents[far.id].get(commit).json()["id"] == taken["commit"]
    assert agents[disk.agent.id].get(commit).status_code == 404, "only while it fills a volume with it"


def agent_client(server: RunningServer, agent: Agent) -> httpx.Client:
    with server.deps.db.write() as tx:
        token = tokens.add(tx, TokenKind.AGENT, name="agent", now=server.deps.clock.now(), agent_id=agent.id)[1]
    return server.client(token)


def test_private_workspaces_are_mirrored_by_those_who_may_have_them(
    server: RunningServer, clock: FakeClock, far: Agent, disk: WorkspaceDisk, ada: httpx.Client
) -> None:
    a_workspace(ada, disk)
    bob = server.user("bob", roles={"default": Role.MEMBER})
    refused = bob.post(ALL, json={"source": "lab", "target": "far"})
    assert refused.status_code == 404 and "lab" in refused.text
    ask(ada, "POST", source="lab", target="far", name="mine")
    assert ask(bob, "GET")["items"] == [] and bob.get(f"{ALL}/mine").status_code == 404
    assert [one["name"] for one in server.admin.get(ALL).json()["items"]] == ["mine"]
    assert bob.post(f"{ALL}/mine/run").status_code == 404
    same_site = ada.post(ALL, json={"source": "lab", "target": "lab"})
    assert same_site.status_code == 400 and "is at lab itself" in same_site.text


def test_a_name_of_both_kinds_must_be_told_apart(
    server: RunningServer, far: Agent, disk: WorkspaceDisk, ada: httpx.Client
) -> None:
    a_workspace(ada, disk, "xray")
    a_commit(server.deps, {"a": b"1"})
    refused = ada.post(ALL, json={"source": "xray", "target": "far"})
    assert refused.status_code == 400 and "dataset:xray or workspace:xray" in refused.text
    assert ask(ada, "POST", source="workspace:xray", target="far")["workspace"] == "xray"
    assert ask(ada, "POST", source="dataset:xray@main", target="far")["dataset"] == "xray"


def test_who_lost_the_right_mirrors_nothing(
    server: RunningServer, clock: FakeClock, far: Agent, disk: WorkspaceDisk, ada: httpx.Client
) -> None:
    a_workspace(ada, disk)
    ask(ada, "POST", source="lab", target="far")
    server.admin.put("/projects/default/members/ada", json={"role": "viewer"})
    rounds.run_due(server.deps, clock.now())
    shown = server.admin.get(f"{ALL}/lab").json()
    assert shown["state"] == "failing" and shown["problem"]
    with server.deps.db.read() as tx:
        (workspace,) = workspaces.page(tx, projects=None, limit=10)
        assert workspace_snapshots.of_workspace(tx, workspace.id) == ()
        assert mirrors.kept_on(tx, shown["volume"]) == {}


def test_a_server_that_dies_while_an_agent_works_loses_nothing(
    server: RunningServer, clock: FakeClock, far: Agent, disk: WorkspaceDisk, ada: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The run is in its row: whoever looks next goes on, with the same snapshot."""

    class Killed(BaseException):
        pass

    def dies(*arguments: object, **values: object) -> None:
        raise Killed

    a_workspace(ada, disk)
    ask(ada, "POST", source="lab", target="far")
    rounds.run_due(server.deps, clock.now())
    disk.carry_out()
    clock.advance(rounds.LOOK_AGAIN.total_seconds())
    with monkeypatch.context() as patched:
        patched.setattr(rounds, "_postpone", dies)
        with pytest.raises(Killed):
            rounds.run_due(server.deps, clock.now())
    clock.advance(timedelta(minutes=3).total_seconds())
    rounds.run_due(server.deps, clock.now())
    carry_out(server.deps, far)
    look(server, clock)
    assert ask(ada, "GET", "/lab")["state"] == "waiting"
    taken = ada.get("/projects/default/workspaces/lab/snapshots").json()["items"]
    assert len(taken) == 1
    assert cached_on(server, taken[0]["commit"]) == CachedState.READY.value
