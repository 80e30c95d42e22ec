"""Workspaces over HTTP: made, snapshotted, kept, restored, cloned, shared, removed; what is refused, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.db import agents
from millpond.model.agent import Agent
from millpond.model.people import Role
from millpond.services.workspaces import changes, schedules
from millpond.testing.builders_data import GB, a_commit, a_volume, an_agent, carry_out
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer, running_server
from millpond.testing.workspaces import WorkspaceDisk

ALL = "/projects/default/workspaces"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def server(tmp_path: Path, clock: FakeClock) -> Iterator[RunningServer]:
    with running_server(tmp_path / "server", clock=clock) as running:
        yield running


@pytest.fixture
def agent(server: RunningServer) -> Agent:
    agent = an_agent(server.deps)
    a_volume(server.deps, agent, capacity=10 * GB, reserve_bytes=0)
    return agent


@pytest.fixture
def disk(server: RunningServer, agent: Agent, tmp_path: Path) -> WorkspaceDisk:
    return WorkspaceDisk(server, agent, tmp_path / "volume")


@pytest.fixture
def ada(server: RunningServer) -> httpx.Client:
    return server.user("ada", roles={"default": Role.MEMBER})


def create(client: httpx.Client, name: str = "w", **asked: Any) -> dict[str, Any]:
    answer = client.post(ALL, json={"name": name, **({} if "clone" in asked else {"size_bytes": GB}), **asked})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def show(client: httpx.Client, name: str = "w") -> dict[str, Any]:
    return dict(client.get(f"{ALL}/{name}").json())


def take(client: httpx.Client, of: str = "w", **asked: Any) -> dict[str, Any]:
    answer = client.post(f"{ALL}/{of}/snapshots", json=asked)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def snapshots(client: httpx.Client, name: str = "w") -> list[dict[str, Any]]:
    return list(client.get(f"{ALL}/{name}/snapshots").json()["items"])


def test_from_nothing_to_a_kept_snapshot_and_back(ada: httpx.Client, disk: WorkspaceDisk) -> None:
    made = create(ada)
    assert (made["state"], made["how"], made["owner"]) == ("creating", "empty", "ada")
    (wanted,) = disk.carry_out()
    assert wanted.size_bytes == GB
    assert show(ada)["state"] == "ready"
    assert disk.wanted() == [], "what is as it should be is not listed"
    file = disk.tree(made["id"]) / "a.txt"
    file.write_text("one")
    taken = take(ada, name="first")
    assert (taken["state"], taken["near"], taken["commit"]) == ("taking", False, None)
    disk.carry_out()
    (kept,) = snapshots(ada)
    assert (kept["state"], kept["near"], kept["files"], kept["bytes"]) == ("kept", True, 1, 3)
    assert kept["commit"] is not None
    file.write_text("two")
    answer = ada.post(f"{ALL}/w/restore", json={"snapshot": "first"}).json()
    assert (answer["state"], answer["restoring"]) == ("restoring", "w@first")
    disk.carry_out()
    assert file.read_text() == "one"
    assert show(ada)["state"] == "ready"
    safety, _ = snapshots(ada)
    assert (safety["origin"], safety["state"]) == ("safety", "kept")
    found = ada.get(f"{ALL}/w/diff", params={"before": "first", "after": safety["name"]}).json()
    assert [one["path"] for one in found["items"]] == ["a.txt"]
    listed = ada.get(f"{ALL}/w/snapshots/first/entries").json()["items"]
    assert [one["name"] for one in listed] == ["a.txt"]


def test_a_commit_becomes_a_workspace(
    server: RunningServer, ada: httpx.Client, agent: Agent, disk: WorkspaceDisk
) -> None:  # fmt: skip
    a_commit(server.deps, {"a.txt": b"a" * 1000, "b/c.txt": b"c"})
    asked = {"name": "w", "size_bytes": GB, "dataset": "xray"}
    planned = ada.post(f"{ALL}/plan", json=asked).json()
    assert (planned["volume"], planned["how"]) == ("nfs", "fill")
    assert "filled from the lake" in planned["reasons"][0]
    made = create(ada, dataset="xray")
    (wanted,) = disk.carry_out()
    assert (wanted.source.kind, wanted.source.cached, wanted.source.project) == ("commit", False, "default")
    assert (disk.tree(made["id"]) / "b/c.txt").read_bytes() == b"c"
    server.admin.post("/caches", json={"dataset": "default/xray", "volume": "nfs"})
    carry_out(server.deps, agent)
    create(ada, "near", dataset="xray")
    (cached,) = server.admin.get("/caches").json()["items"]
    assert [one["reason"] for one in cached["leased_by"]] == ["default/near"], "leased while it is made"
    (wanted,) = disk.carry_out()
    assert (wanted.source.cached, wanted.how) == (True, "copy")
    (cached,) = server.admin.get("/caches").json()["items"]
    assert cached["leased_by"] == []


def test_clones_and_what_they_are_refreshed_from(ada: httpx.Client, disk: WorkspaceDisk, clock: FakeClock) -> None:
    made = create(ada)
    disk.carry_out()
    file = disk.tree(made["id"]) / "a.txt"
    file.write_text("live")
    assert take(ada, name="daily", keep="2")["name"].startswith("daily.2")
    disk.carry_out()
    file.write_text("later")
    live, newest = create(ada, "live", clone="w"), create(ada, "newest", clone="w@daily*")
    assert live["size_bytes"] == GB
    disk.carry_out()
    assert (disk.tree(live["id"]) / "a.txt").read_text() == "later"
    assert (disk.tree(newest["id"]) / "a.txt").read_text() == "live"
    clock.advance(60)
    take(ada, name="daily", keep="2")
    disk.carry_out()
    answer = ada.post(f"{ALL}/newest/refresh", json={})
    assert answer.status_code == 200, answer.text
    disk.carry_out()
    assert (disk.tree(newest["id"]) / "a.txt").read_text() == "later", "the newest that matches now"
    assert [one["origin"] for one in snapshots(ada, "newest")] == ["safety"]
    refused = ada.post(f"{ALL}/w/refresh", json={})
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_request")


def test_what_is_refused(server: RunningServer, ada: httpx.Client, disk: WorkspaceDisk) -> None:
    a_commit(server.deps, {"a.txt": b"a" * 2_000_000})
    create(ada)
    disk.carry_out()
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"name": "w", "size_bytes": GB}, 409, "already has a workspace 'w'"),
        ({"name": "W!", "size_bytes": GB}, 400, "not a valid name for a workspace"),
        ({"name": "x"}, 422, "No size given"),
        ({"name": "x", "size_bytes": 10}, 422, "at least 1.0 MB"),
        ({"name": "x", "size_bytes": 1_500_000, "dataset": "xray"}, 422, "more than the size of 1.5 MB"),
        ({"name": "x", "size_bytes": 10 * GB}, 409, "1.0 GB reserved for workspace default/w of ada"),
        ({"name": "x", "size_bytes": 11 * GB}, 409, "nfs can hold 10.0 GB in total"),
        ({"name": "x", "size_bytes": GB, "volume": "nsf"}, 404, "No volume 'nsf'"),
        ({"name": "x", "size_bytes": GB, "tier": "gold"}, 404, "No volume or tier 'gold'"),
        ({"name": "x", "size_bytes": GB, "near": "moon"}, 404, "No compute or site 'moon'"),
        ({"name": "x", "clone": "nothing"}, 404, "No workspace 'nothing'"),
        ({"name": "x", "clone": "w@nothing"}, 404, "has no snapshots yet"),
        ({"name": "x", "clone": "w", "dataset": "xray"}, 400, "not both"),
    ]
    for asked, status, words in cases:
        for path in (ALL, f"{ALL}/plan"):
            answer = ada.post(path, json=asked)
            assert (answer.status_code, words in answer.json()["detail"]) == (status, True), (asked, answer.text)
    take(ada, name="first")
    assert ada.post(f"{ALL}/w/snapshots", json={"name": "first"}).json()["code"] == "name_taken"
    assert ada.post(f"{ALL}/w/snapshots", json={"name": "a/b"}).json()["code"] == "bad_name"
    assert ada.post(f"{ALL}/w/snapshots", json={"name": "a", "keep": "soon"}).status_code == 400
    assert ada.get(f"{ALL}/w/diff", params={"before": "first", "after": "first"}).json()["code"] == "not_ready"
    assert len(ada.get(ALL).json()["items"]) == 1, "nothing of it was made"


def test_room_is_made_by_evicting_what_is_idle(
    server: RunningServer, ada: httpx.Client, agent: Agent, disk: WorkspaceDisk
) -> None:  # fmt: skip
    a_commit(server.deps, {"a.txt": b"a" * 2_000_000})
    server.admin.post("/caches", json={"dataset": "default/xray", "volume": "nfs"})
    carry_out(server.deps, agent)
    made = create(ada, size_bytes=10 * GB)
    assert made["state"] == "creating"
    assert disk.wanted() == [], "not before what must go is gone"
    reasons = ada.get(f"{ALL}/w/why").json()["reasons"]
    assert "waits for room on nfs" in reasons[0]
    (evicted,) = carry_out(server.deps, agent)
    assert evicted.want == "absent"
    disk.carry_out()
    assert show(ada)["state"] == "ready"


def test_why_names_the_agent_that_is_away(
    server: RunningServer, ada: httpx.Client, agent: Agent, disk: WorkspaceDisk, clock: FakeClock
) -> None:
    def why() -> str:
        return " ".join(ada.get(f"{ALL}/w/why").json()["reasons"])

    with server.deps.db.write() as tx:
        agents.seen(tx, agent.id, version="1", instance="one", peer=None, now=clock.now())
    create(ada)
    assert "is away" not in why()
    clock.advance(2 * 3600)
    waits = (
        f"waits for the agent of compute {agent.compute}, which works on volume nfs: it is away and was last heard of"
    )
    assert f"{waits} 2 h ago" in why()
    disk.carry_out()
    assert "is away" not in why(), "it has nothing to wait for any more"


def test_private_unless_shared(server: RunningServer, ada: httpx.Client, disk: WorkspaceDisk) -> None:
    bea = server.user("bea", roles={"default": Role.MEMBER})
    viewer = server.user("vic", roles={"default": Role.VIEWER})
    boss = server.user("boss", roles={"default": Role.ADMIN})
    stranger = server.user("sam", roles={"other": Role.ADMIN})
    create(ada)
    disk.carry_out()
    take(ada, name="first")
    disk.carry_out()
    commit = snapshots(ada)[0]["commit"]
    hidden = f"/projects/default/datasets/.workspaces/commits/{commit}"
    for client in (bea, viewer):
        assert client.get(ALL).json()["items"] == []
        assert client.get(f"{ALL}/w").status_code == 404
        assert client.post(f"{ALL}/w/snapshots", json={}).status_code in (403, 404)
    assert stranger.get(f"{ALL}/w").status_code == 404
    assert boss.get(f"{ALL}/w").json()["usable"] is False
    assert boss.get(f"{ALL}/w/diff", params={"before": "first", "after": "first"}).status_code == 403
    assert boss.post(ALL, json={"name": "x", "clone": "w"}).status_code == 403
    assert boss.patch(f"{ALL}/w", json={"shared": True}).status_code == 403
    for client in (bea, viewer, boss):
        assert client.get(hidden).status_code in (403, 404), "nor by the dataset that keeps it"
        assert client.get(f"{hidden}/entries").status_code in (403, 404)
        assert client.post(f"{hidden}/urls", json={"pages": []}).status_code in (403, 404)
    for path in ("commits", "refs"):
        assert bea.get(f"/projects/default/datasets/.workspaces/{path}").status_code in (403, 404)
    assert ada.patch(f"{ALL}/w", json={"shared": True}).json()["shared"] is True
    assert bea.post(f"{ALL}/w/snapshots", json={"name": "second"}).status_code == 201
    assert viewer.post(f"{ALL}/w/snapshots", json={}).status_code == 403
    assert bea.delete(f"{ALL}/w").status_code == 403, "using is not owning"
    assert boss.delete(f"{ALL}/w").status_code == 204


def test_the_bin(server: RunningServer, ada: httpx.Client, disk: WorkspaceDisk, clock: FakeClock) -> None:
    first = create(ada)
    disk.carry_out()
    (disk.tree(first["id"]) / "a.txt").write_text("kept")
    take(ada, name="first")
    disk.carry_out()
    assert ada.delete(f"{ALL}/w").status_code == 204
    assert ada.get(f"{ALL}/w").status_code == 404
    (binned,) = ada.get(ALL, params={"deleted": True}).json()["items"]
    assert binned["deleted_by"] == "ada"
    create(ada)
    assert ada.post(f"{ALL}/w/undelete").json()["code"] == "name_taken"
    ada.delete(f"{ALL}/w")
    disk.carry_out()
    assert ada.post(f"{ALL}/{first['id']}/undelete").json()["state"] == "ready"
    assert (disk.tree(first["id"]) / "a.txt").read_text() == "kept"
    ada.delete(f"{ALL}/w")
    clock.advance(40 * 86_400)
    assert ada.post(f"{ALL}/{first['id']}/undelete").status_code == 404
    changes.purge_old(server.deps, clock.now())
    disk.carry_out()
    changes.settle(server.deps, clock.now())
    assert ada.get(ALL, params={"deleted": True}).json()["items"] == []
    assert not disk.tree(first["id"]).exists()
    refs = server.admin.get("/volumes/nfs").json()
    assert refs["used_bytes"] == 0, "its room is free again"


def test_rules_let_old_snapshots_go(
    server: RunningServer, ada: httpx.Client, disk: WorkspaceDisk, clock: FakeClock
) -> None:  # fmt: skip
    create(ada)
    disk.carry_out()
    answer = ada.put(f"{ALL}/w/schedules/daily", json={"every_seconds": 3600, "keep": "2"})
    assert answer.json()["every_seconds"] == 3600
    for _ in range(4):
        clock.advance(3600)
        assert schedules.run_due(server.deps, clock.now()) == 1
        assert schedules.run_due(server.deps, clock.now()) == 0
        disk.carry_out()
    assert schedules.apply_rules(server.deps, clock.now()) == 2
    disk.carry_out()
    changes.settle(server.deps, clock.now())
    assert [one["number"] for one in snapshots(ada)] == [4, 3]
    assert {one["origin"] for one in snapshots(ada)} == {"schedule"}
    assert len(list((disk.root / show(ada)["id"] / "snapshots").iterdir())) == 2
    assert ada.delete(f"{ALL}/w/schedules/daily").status_code == 204
    assert ada.put(f"{ALL}/w/schedules/daily", json={"every_seconds": 1}).status_code == 400
    assert ada.put(f"{ALL}/w/schedules/daily", json={"cron": "often"}).status_code == 400
    assert ada.put(f"{ALL}/w/schedules/daily", json={}).status_code == 400


def test_either_copy_may_be_lost(ada: httpx.Client, disk: WorkspaceDisk) -> None:
    made = create(ada)
    disk.carry_out()
    (disk.tree(made["id"]) / "a.txt").write_text("a")
    take(ada, name="kept")
    disk.carry_out()
    disk.keeps = False
    take(ada, name="near")
    disk.carry_out()
    near, kept = snapshots(ada)
    assert (near["state"], kept["state"]) == ("near", "kept")
    (wanted,) = disk.wanted()
    (asked,) = wanted.snapshots
    assert (asked.want, asked.parent) == ("kept", kept["commit"])
    lost = {"number": asked.number, "attempt": asked.attempt, "state": "absent"}
    disk.says["w"] = {"snapshots": [lost, {**lost, "number": 1, "attempt": -1}]}
    disk.carry_out(1)
    near, kept = snapshots(ada)
    assert (near["state"], kept["state"]) == ("failed", "kept")
    assert "lost before it was kept" in near["problem"]
    restored = ada.post(f"{ALL}/w/restore", json={"snapshot": "kept", "into": "again"})
    assert restored.status_code == 200, restored.text
    assert ada.post(f"{ALL}/w/restore", json={"snapshot": "near"}).json()["code"] == "not_ready"


def test_resizing(server: RunningServer, ada: httpx.Client, disk: WorkspaceDisk) -> None:
    made = create(ada)
    disk.carry_out()
    (disk.tree(made["id"]) / "a.bin").write_bytes(b"a" * 3_000_000)
    assert ada.patch(f"{ALL}/w", json={"size_bytes": 2 * GB}).json()["size_bytes"] == 2 * GB
    disk.carry_out()
    assert show(ada)["used_bytes"] == 3_000_000
    assert ada.patch(f"{ALL}/w", json={"size_bytes": 2_000_000}).status_code == 422
    assert ada.patch(f"{ALL}/w", json={"size_bytes": 20 * GB}).json()["code"] == "does_not_fit"
    assert server.admin.get("/volumes/nfs").json()["used_bytes"] == 2 * GB
    assert ada.patch(f"{ALL}/w", json={}).status_code == 400


def test_a_snapshot_larger_than_the_size_is_not_restored(ada: httpx.Client, disk: WorkspaceDisk) -> None:
    made = create(ada)
    disk.carry_out()
    file = disk.tree(made["id"]) / "a.bin"
    file.write_bytes(b"a" * 3_000_000)
    take(ada, name="large")
    disk.carry_out()
    file.unlink()
    ada.patch(f"{ALL}/w", json={"size_bytes": 2 * GB})
    disk.carry_out()
    assert ada.patch(f"{ALL}/w", json={"size_bytes": 2_000_000}).status_code == 200
    disk.carry_out()
    refused = ada.post(f"{ALL}/w/restore", json={"snapshot": "large"})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid"), refused.text
    assert refused.json()["hint"] == "Resize it first: mill workspace resize w 3MB"


def test_neither_volume_nor_project_goes_with_a_workspace(
    server: RunningServer, ada: httpx.Client, disk: WorkspaceDisk
) -> None:
    create(ada)
    disk.carry_out()
    project = ALL.split("/")[2]
    for path in ("/volumes/nfs", f"/projects/{project}"):
        refused = server.admin.delete(path)
        assert (refused.status_code, refused.json()["code"]) == (409, "in_use"), refused.text
        assert "w" in refused.json()["detail"]
    # The bin counts, too.
    assert ada.delete(f"{ALL}/w").status_code == 204
    assert "1 workspace" in server.admin.delete("/volumes/nfs").json()["detail"]
