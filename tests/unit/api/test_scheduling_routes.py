"""The waiting line and what-if over HTTP: order, rules, who sees what, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millpond.client.what_if_file import read_what_if
from millpond.errors import BadRequest
from millpond.services.jobs import schedule
from millpond.testing.builders_work import add_agent
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer


@pytest.fixture
def _world(server: RunningServer, clock: FakeClock) -> None:
    """Two GPUs; `default` is guaranteed both, `guest` none. One job runs, three wait."""
    add_agent(server.deps.db, "dgx", now=clock.now(), gpus=2, cpus=16)
    server.admin.post("/projects", json={"name": "guest"}).raise_for_status()
    server.admin.patch("/projects/default", json={"quota": 2}).raise_for_status()
    for project, name, gpus in (("default", "runs", 2), ("guest", "over", 1), ("default", "claim", 1)):
        submit(server, project, name, gpu_hundredths=100 * gpus, timeout_seconds=600)
        clock.advance(1)
    submit(server, "default", "later", gpu_hundredths=100, after=["claim"])
    schedule.run_once(server.deps, clock.now())


def submit(server: RunningServer, project: str, name: str, **spec: Any) -> None:
    body = {"name": name, "command": ["true"], **spec}
    answer = server.admin.post(f"/projects/{project}/jobs", json=body)
    assert answer.status_code == 201, answer.text


@pytest.mark.usefixtures("_world")
def test_the_waiting_line_is_in_order_and_tells_rules(server: RunningServer) -> None:
    found = server.admin.get("/pending").json()["items"]
    assert [(one["position"], one["project"], one["job"], one["gpus"], one["rule"]) for one in found] == [
        (1, "guest", "over", 1, "order"), (2, "default", "claim", 1, "order"), (3, "default", "later", 1, "dependency"),
    ]  # fmt: skip
    assert found[0]["expected_start"] is not None
    assert found[2]["expected_start"] is None
    own = server.admin.get("/pending", params={"project": "default"}).json()["items"]
    assert [(one["position"], one["job"]) for one in own] == [(2, "claim"), (3, "later")]


@pytest.mark.usefixtures("_world")
def test_of_other_projects_only_places_and_sizes_are_seen(server: RunningServer) -> None:
    maria = server.user("maria")
    found = maria.get("/pending").json()["items"]
    hidden = next(one for one in found if one["position"] == 1)
    assert (hidden["project"], hidden["job"], hidden["id"], hidden["gpus"]) == (None, None, None, 1)
    assert maria.get("/pending", params={"project": "guest"}).status_code == 404


@pytest.mark.usefixtures("_world")
def test_more_nodes_shorten_the_wait(server: RunningServer) -> None:
    body = {"nodes": [{"count": 2, "like": "dgx"}], "duration_seconds": 600}
    answer = server.admin.post("/plan:what-if", json=body).raise_for_status().json()
    assert answer["now"]["jobs"] == answer["then"]["jobs"] == 4
    assert answer["now"]["mean_wait"] > answer["then"]["mean_wait"]
    assert {one["project"] for one in answer["projects"]} == {"default", "guest"}
    assert answer["now"]["started"] == answer["then"]["started"] == 3
    assert server.admin.get("/projects/default").json()["quota"] == 2


@pytest.mark.usefixtures("_world")
def test_another_quota_lets_another_project_go_first(server: RunningServer) -> None:
    body = {"projects": {"guest": {"quota": 1}, "default": {"quota": 1}}, "duration_seconds": 600}
    answer = server.admin.post("/plan:what-if", json=body).raise_for_status().json()
    guest = next(one for one in answer["projects"] if one["project"] == "guest")
    assert guest["then"]["mean_wait"] < guest["now"]["mean_wait"]
    assert answer["then"]["preemptions"] == 1


@pytest.mark.usefixtures("_world")
@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"projects": {"gest": {"quota": 1}}}, 404, "'guest'"),
        ({"nodes": [{"like": "dgy"}]}, 404, "dgy"),
        ({"nodes": [{"count": 0}]}, 422, ""),
        ({"quotas": {}}, 422, ""),
    ],
)
def test_what_is_unknown_is_refused(server: RunningServer, body: dict[str, Any], status: int, words: str) -> None:
    answer = server.admin.post("/plan:what-if", json=body)
    assert answer.status_code == status
    assert words in answer.text


@pytest.mark.usefixtures("_world")
def test_what_if_is_for_administrators_and_replays_recorded_jobs(server: RunningServer) -> None:
    assert server.user("maria").post("/plan:what-if", json={}).status_code == 403
    answer = server.admin.post("/plan:what-if", json={"replay_seconds": 3600}).raise_for_status().json()
    assert answer["now"]["jobs"] == 0


def test_a_file_is_written_as_people_write_quantities(tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text(
        "projects: {team-a: {quota: 4, min_runtime: 10m}}\nnodes: [{count: 2, memory: 256GB, site: cloud}]\n"
        "settings: {rebalance: false}\nreplay: 24h\nduration: 30m\n"
    )
    found = read_what_if(file)
    assert found.projects["team-a"].min_runtime == 600
    assert (found.nodes[0].memory_bytes, found.nodes[0].site) == (256 * 10**9, "cloud")
    assert (found.replay_seconds, found.duration_seconds, found.settings.rebalance) == (86_400, 1800, False)


@pytest.mark.parametrize(
    ("text", "words"), [("projects: [", "neither YAML nor JSON"), ("- a", "no settings"), ("nods: []", "nods")]
)
def test_a_file_that_is_wrong_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(BadRequest, match=words):
        read_what_if(file)
    with pytest.raises(BadRequest, match="Cannot read"):
        read_what_if(tmp_path / "none.yaml")
