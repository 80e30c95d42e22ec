"""Templates and queues over HTTP: who may change them, what is refused, and how jobs use them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from millpond.db import jobs, nodes
from millpond.services.jobs import schedule
from millpond.testing.builders_work import add_agent
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer


@pytest.fixture
def _world(server: RunningServer, clock: FakeClock) -> None:
    add_agent(server.deps.db, "dgx", now=clock.now(), gpus=2, cpus=16)
    add_agent(server.deps.db, "cloud", now=clock.now(), gpus=1, cpus=8)
    put(server, "gpu-real", compute="dgx", gpus=1, cpu=4, price_per_hour=2.5, env={"MODE": "fast"})
    put(server, "cloud-gpu", compute="cloud", gpus=1, price_per_hour=4)


def put(server: RunningServer, name: str, **spec: Any) -> Any:
    return server.admin.put(f"/templates/{name}", json=spec).raise_for_status().json()


def submit(server: RunningServer, **spec: Any) -> Any:
    return server.admin.post("/projects/default/jobs", json={"command": ["true"], **spec})


@pytest.mark.usefixtures("_world")
def test_everybody_sees_templates_and_administrators_change_them(server: RunningServer) -> None:
    maria = server.user("maria")
    found = maria.get("/templates").json()["items"]
    assert [(one["name"], one["gpus"], one["price_per_hour"]) for one in found] == [
        ("cloud-gpu", 1.0, 4.0), ("gpu-real", 1.0, 2.5),
    ]  # fmt: skip
    assert maria.get("/templates/gpu-real").json()["env"] == {"MODE": "fast"}
    assert maria.put("/templates/gpu-real", json={}).status_code == 403
    assert maria.delete("/templates/gpu-real").status_code == 403
    assert maria.put("/queues/burst", json={"templates": [{"template": "gpu-real"}]}).status_code == 403
    assert maria.get("/queues").json()["items"] == []
    audited = [one["action"] for one in server.admin.get("/audit").json()["items"]]
    assert audited.count("template.create") == 2


@pytest.mark.usefixtures("_world")
@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/templates/Bad Name", {}, 400, "not a valid name"),
        ("/templates/x", {"gpus": 1.5}, 422, "1.5 GPUs"),
        ("/templates/x", {"gpus": 0.001}, 422, ""),
        ("/templates/x", {"gpus": -1}, 422, ""),
        ("/templates/x", {"price_per_hour": -1}, 422, ""),
        ("/templates/x", {"compute": "dgy"}, 404, "'dgx'"),
        ("/templates/x", {"env": {"MILL_X": "1"}}, 422, "reserved"),
        ("/templates/x", {"node_selector": {"a b": "1"}}, 422, "label"),
        ("/templates/x", {"colour": "red"}, 422, "colour"),
        ("/queues/q", {"templates": []}, 422, ""),
        ("/queues/q", {"templates": [{"template": "gpu-reel"}]}, 404, "'gpu-real'"),
        ("/queues/q", {"templates": [{"template": "gpu-real"}, {"template": "gpu-real"}]}, 422, "twice"),
        ("/queues/gpu-real", {"templates": [{"template": "gpu-real"}]}, 409, "A template is named"),
    ],
)
def test_what_is_wrong_is_said(server: RunningServer, path: str, body: Any, status: int, words: str) -> None:
    answer = server.admin.put(path, json=body)
    assert answer.status_code == status
    assert words in answer.text


@pytest.mark.usefixtures("_world")
def test_creating_one_twice_is_refused(server: RunningServer) -> None:
    assert server.admin.post("/templates", json={"name": "gpu-real"}).json()["code"] == "name_taken"
    body = {"name": "burst", "templates": [{"template": "gpu-real", "patience_seconds": 60}]}
    assert server.admin.post("/queues", json=body).status_code == 201
    assert server.admin.post("/queues", json=body).json()["code"] == "name_taken"
    assert server.admin.put("/templates/burst", json={}).json()["code"] == "name_taken"


@pytest.mark.usefixtures("_world")
def test_a_template_fills_in_what_the_job_leaves_out(server: RunningServer) -> None:
    job = submit(server, on="gpu-real", env={"X": "1"}).json()
    assert (job["template"], job["gpu_hundredths"], job["cpu"], job["wanted_compute"]) == ("gpu-real", 100, 4, "dgx")
    assert job["env"] == {"MODE": "fast", "X": "1"}
    assert job["filled"] == {"compute": "dgx", "cpu": 4, "gpu_hundredths": 100, "env": {"MODE": "fast"}}
    assert submit(server, on="gpu-real", cpu=2, gpu_hundredths=200).json()["gpu_hundredths"] == 200


@pytest.mark.usefixtures("_world")
def test_jobs_that_cannot_use_it_are_refused(server: RunningServer) -> None:
    unknown = submit(server, on="gpu-rea")
    assert unknown.status_code == 404 and "'gpu-real'" in unknown.json()["hint"]
    other = submit(server, on="gpu-real", compute="cloud")
    assert other.status_code == 400 and "dgx" in other.json()["detail"]
    large = submit(server, on="gpu-real", gpu_hundredths=400)
    assert large.json()["code"] == "does_not_fit"


@pytest.mark.usefixtures("_world")
def test_queued_jobs_follow_a_template_and_keep_it(server: RunningServer) -> None:
    job = submit(server, on="gpu-real").json()
    put(server, "gpu-real", compute="dgx", gpus=2, cpu=8)
    after = server.admin.get(f"/projects/default/jobs/{job['id']}").json()
    assert (after["gpu_hundredths"], after["cpu"], after["env"]) == (200, 8, {})
    refused = server.admin.delete("/templates/gpu-real").json()
    assert refused["code"] == "in_use" and f"default/{job['name']}" in refused["detail"]
    server.admin.post(f"/projects/default/jobs/{job['id']}/stop")
    assert server.admin.delete("/templates/gpu-real").status_code == 204


@pytest.mark.usefixtures("_world")
def test_a_template_in_a_queue_is_not_removed(server: RunningServer) -> None:
    server.admin.put("/queues/burst", json={"templates": [{"template": "gpu-real"}, {"template": "cloud-gpu"}]})
    assert "queue burst" in server.admin.delete("/templates/gpu-real").json()["detail"]
    job = submit(server, on="burst").json()
    refused = server.admin.delete("/queues/burst").json()
    assert refused["code"] == "in_use" and job["name"] in refused["detail"]
    server.admin.post(f"/projects/default/jobs/{job['id']}/stop")
    assert server.admin.delete("/queues/burst").status_code == 204
    assert server.admin.delete("/templates/gpu-real").status_code == 204


@pytest.mark.usefixtures("_world")
def test_a_queue_takes_the_first_template_that_could_ever_run_the_job(server: RunningServer) -> None:
    body = {"templates": [{"template": "cloud-gpu", "patience_seconds": 60}, {"template": "gpu-real"}]}
    server.admin.put("/queues/burst", json=body)
    assert submit(server, on="burst").json()["template"] == "cloud-gpu"
    assert submit(server, on="burst", gpu_hundredths=200).json()["template"] == "gpu-real"
    assert submit(server, on="burst", compute="dgx").json()["template"] == "gpu-real"
    assert submit(server, on="burst", gpu_hundredths=800).json()["code"] == "does_not_fit"


@pytest.mark.usefixtures("_world")
@pytest.mark.parametrize(
    ("asked", "placed", "words"),
    [
        ({"gpu_type": "A100"}, "dgx", ""),
        ({"gpu_type": "T4"}, "cloud", ""),
        ({"gpu_type": "H100"}, None, "NVIDIA A100-SXM4-40GB"),
        ({"min_gpu_memory_bytes": 30 * 10**9}, "dgx", ""),
        ({"min_gpu_memory_bytes": 80 * 10**9}, None, "40.0 GB"),
        ({"node_selector": {"zone": "b"}}, "cloud", ""),
        ({"node_selector": {"zone": "c"}}, None, "zone=a, zone=b"),
        ({"gpu_type": "A100", "node_selector": {"zone": "b"}}, None, "label zone=b"),
    ],
)
def test_constraints_choose_the_node(
    server: RunningServer, clock: FakeClock, asked: Any, placed: str | None, words: str
) -> None:
    with server.deps.db.write() as tx:
        for node in nodes.present(tx):
            facts: Any = (
                {"gpu_model": "NVIDIA A100-SXM4-40GB", "gpu_memory_bytes": 40 * 10**9, "labels": {"zone": "a"}}
                if node.name == "dgx"
                else {"gpu_model": "Tesla T4", "gpu_memory_bytes": 16 * 10**9, "labels": {"zone": "b"}}
            )
            nodes.report(tx, node.agent_id, node.compute_id, [replace(node, **facts)], clock.now())
    answer = submit(server, gpu_hundredths=100, **asked)
    if placed is None:
        assert answer.json()["code"] == "does_not_fit"
        assert words in answer.text
        return
    schedule.run_once(server.deps, clock.now())
    with server.deps.db.read() as tx:
        job = jobs.get(tx, answer.json()["id"])
    assert job is not None and job.status.compute == placed
