"""Workspaces that are claims, over HTTP: what classes there are, what is refused, and where jobs that have them run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.db import computes, nodes
from millpond.model.agent import Agent
from millpond.model.compute import Node
from millpond.model.people import Role
from millpond.services.caches.fills import reports
from millpond.services.jobs import schedule
from millpond.testing.builders_data import GB, a_commit, a_volume, an_agent, sees, the_volume
from millpond.testing.server import RunningServer, running_server
from millpond.testing.workspaces import WorkspaceDisk
from millpond.wire.observed import StorageClassSeen, VolumeFeatures

ALL = "/projects/default/workspaces"
HOSTNAME = "kubernetes.io/hostname"
FAST = StorageClassSeen(name="fast", provisioner="csi.fast", expands=True, clones=True, snapshot_class="frozen")
PLAIN = StorageClassSeen(name="plain", provisioner="a.b/plain", snapshot_problem="the cluster has no VolumeSnapshots")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    with running_server(tmp_path / "server") as running:
        yield running


@pytest.fixture
def agent(server: RunningServer) -> Agent:
    """Of a cluster of two nodes, whose volume has little room."""
    deps = server.deps
    agent = an_agent(deps)
    a_volume(deps, agent, capacity=5 * GB, reserve_bytes=0)
    told = sees(the_volume(deps), free=100 * GB).model_copy(
        update={"features": VolumeFeatures(storage_classes=[FAST, PLAIN])}
    )
    reports.observe_volumes(deps, agent, [told])
    with deps.db.write() as tx:
        found = [
            Node(agent.compute_id, name, 4, 16 * GB, labels={HOSTNAME: f"{name}.k8s"}, agent_id=agent.id)
            for name in ("n1", "n2")
        ]
        nodes.report(tx, agent.id, agent.compute_id, found, deps.clock.now())
    return agent


@pytest.fixture
def disk(server: RunningServer, agent: Agent, tmp_path: Path) -> WorkspaceDisk:
    return WorkspaceDisk(server, agent, tmp_path / "volume")


@pytest.fixture
def ada(server: RunningServer) -> httpx.Client:
    return server.user("ada", roles={"default": Role.MEMBER})


def create(client: httpx.Client, name: str = "w", **asked: Any) -> dict[str, Any]:
    size = {} if "clone" in asked else {"size_bytes": GB}
    answer = client.post(ALL, json={"name": name, **size, **({} if asked else {"storage_class": "fast"}), **asked})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def refused(client: httpx.Client, name: str = "no", **asked: Any) -> str:
    answer = client.post(ALL, json={"name": name, "size_bytes": GB, **asked})
    assert answer.is_client_error, answer.text
    told = answer.json()
    return f"{told['detail']} {told['hint']}"


def submit(client: httpx.Client, **asked: Any) -> httpx.Response:
    spec = {"command": ["true"], "workspaces": [{"workspace": "w", "target": "/w"}], **asked}
    return client.post("/projects/default/jobs", json=spec)


def job(client: httpx.Client, job_id: str) -> dict[str, Any]:
    return dict(client.get(f"/projects/default/jobs/{job_id}").json())


def test_a_claim_takes_no_room_of_the_volume(ada: httpx.Client, disk: WorkspaceDisk) -> None:
    made = create(ada, size_bytes=50 * GB, storage_class="fast", many_nodes=True)
    assert (made["storage_class"], made["many_nodes"], made["path"]) == ("fast", True, "")
    (wanted,) = disk.carry_out()
    assert (wanted.storage_class, wanted.many_nodes, wanted.size_bytes) == ("fast", True, 50 * GB)
    create(ada, "directory", storage_class=None, size_bytes=GB)
    why = ada.get(f"{ALL}/w/why").json()["reasons"]
    assert "a claim of storage class fast, which pods of several nodes can mount" in why


def test_what_is_refused(ada: httpx.Client, agent: Agent) -> None:
    assert "No storage class 'fastt'" in refused(ada, storage_class="fastt")
    assert "--class" in refused(ada, many_nodes=True)
    create(ada, storage_class="plain")
    larger = ada.patch(f"{ALL}/w", json={"size_bytes": 2 * GB})
    assert (larger.status_code, "cannot be made larger" in larger.json()["detail"]) == (422, True)
    create(ada, "grows", storage_class="fast")
    assert ada.patch(f"{ALL}/grows", json={"size_bytes": 60 * GB}).json()["size_bytes"] == 60 * GB
    smaller = ada.patch(f"{ALL}/grows", json={"size_bytes": GB})
    assert (smaller.status_code, "never shrink" in smaller.json()["detail"]) == (422, True)


def test_how_clones_are_made(server: RunningServer, ada: httpx.Client, agent: Agent, disk: WorkspaceDisk) -> None:
    a_commit(server.deps, {"a.txt": b"one"}, dataset="digits")
    for storage_class in ("fast", "plain"):
        create(ada, storage_class, storage_class=storage_class, dataset="digits")
    create(ada, "directory", dataset="digits")
    disk.carry_out()
    for name, asked, how in (
        ("one", {"clone": "fast"}, "csi"),
        ("two", {"clone": "plain"}, "copy"),
        ("three", {"clone": "fast", "storage_class": "plain"}, "copy"),
    ):
        made = create(ada, name, **asked)
        assert (made["how"], made["storage_class"]) == (how, asked.get("storage_class", asked["clone"])), made
        assert disk.carry_out()[0].source.kind == "workspace"
    for name, asked in (
        ("four", {"clone": "directory", "storage_class": "fast"}),
        ("five", {"clone": "fast", "volume": "nfs"}),
    ):
        made = create(ada, name, **asked)
        assert made["source"]["kind"] == "snapshot", "a claim has no directory's tree, nor the other way round"
        disk.carry_out()
        shown = ada.get(f"{ALL}/{name}").json()
        assert (shown["state"], shown["files"]) == ("ready", 1)


def test_a_snapshot_that_is_kept_at_once_is_there_when_its_agent_has_told(
    ada: httpx.Client, disk: WorkspaceDisk
) -> None:
    create(ada, storage_class="plain")
    disk.carry_out()
    ada.post(f"{ALL}/w/snapshots", json={"name": "first"})
    (wanted,) = disk.wanted()
    (asked,) = wanted.snapshots
    seen = disk._take(wanted, asked.model_copy(update={"want": "kept"}))
    (before,) = ada.get(f"{ALL}/w/snapshots").json()["items"]
    assert (before["state"], before["commit"]) == ("taking", seen.commit)
    told = disk._do(wanted).model_copy(update={"snapshots": [seen.model_copy(update={"near": False})]})
    disk.tell([told])
    (kept,) = ada.get(f"{ALL}/w/snapshots").json()["items"]
    assert (kept["state"], kept["near"], kept["commit"], kept["taken_at"] is None) == (
        "kept", False, seen.commit, False,
    )  # fmt: skip
    assert disk.wanted() == [] or not disk.wanted()[0].snapshots


def test_jobs_with_a_claim_for_one_node_share_that_node(
    server: RunningServer, ada: httpx.Client, agent: Agent, disk: WorkspaceDisk
) -> None:
    create(ada, storage_class="fast")
    create(ada, "shared", storage_class="fast", many_nodes=True)
    disk.carry_out()
    several = submit(ada, processes=3)
    assert (several.status_code, "ReadWriteOnce" in several.json()["detail"]) == (400, True), several.text
    elsewhere = submit(ada, compute="other")
    assert elsewhere.is_client_error
    first, second = submit(ada).json()["id"], submit(ada).json()["id"]
    schedule.run_once(server.deps, server.deps.clock.now())
    schedule.run_once(server.deps, server.deps.clock.now())
    placed, held = sorted((job(ada, one) for one in (first, second)), key=lambda one: one["state"] == "queued")
    assert (placed["state"], held["state"]) == ("placed", "queued")
    reasons = " ".join(held["reasons"])
    assert "ReadWriteOnce claim, which one node mounts at a time" in reasons, reasons
    third = submit(ada).json()
    assert third["spec"]["node_selector"] == {HOSTNAME: f"{placed['node']}.k8s"}
    schedule.run_once(server.deps, server.deps.clock.now())
    assert job(ada, third["id"])["node"] == placed["node"]
    with server.deps.db.read() as tx:
        compute = computes.get(tx, agent.compute_id)
    assert compute is not None
    assert third["spec"]["compute"] == compute.name
    many = submit(ada, processes=3, workspaces=[{"workspace": "shared", "target": "/w"}])
    assert many.json()["code"] == "does_not_fit", "which is said of the driver, not of the claim"
    with server.deps.db.write() as tx:
        kept = [replace(one) for one in nodes.present(tx, [agent.compute_id]) if one.name == "n1"]
        nodes.report(tx, agent.id, agent.compute_id, kept, server.deps.clock.now())
    assert submit(ada, processes=3).json()["code"] == "does_not_fit", "on a cluster of one node there is no other"
