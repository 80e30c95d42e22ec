"""Quotas and other shares of projects through the API."""

from __future__ import annotations

from typing import Any

import pytest

from millpond.model.people import Role
from millpond.testing.builders_work import add_agent
from millpond.testing.server import RunningServer


def project(server: RunningServer, name: str) -> dict[str, Any]:
    found = {one["name"]: one for one in server.admin.get("/projects").json()["items"]}
    answer: dict[str, Any] = found[name]
    return answer


def test_create_with_settings(server: RunningServer) -> None:
    body = {
        "name": "team-a", "quota": 2.5, "weight": 3, "limit": 8, "over_quota": False,
        "train_affinity": {"gpu": "a100"}, "interactive_affinity": {"gpu": "t4"},
        "interactive_time": 3600, "interactive_idle": 600, "min_runtime": 60,
    }  # fmt: skip
    made = server.admin.post("/projects", json=body)
    assert made.status_code == 201, made.text
    assert {key: made.json()[key] for key in body} == body
    assert {key: project(server, "team-a")[key] for key in body} == body


def test_weight_follows_the_quota_until_it_is_set(server: RunningServer) -> None:
    server.admin.post("/projects", json={"name": "team-a", "quota": 4})
    assert (project(server, "team-a")["weight"], project(server, "team-a")["own_weight"]) == (4, None)
    server.admin.patch("/projects/team-a", json={"weight": 2})
    assert (project(server, "team-a")["weight"], project(server, "team-a")["own_weight"]) == (2, 2)
    server.admin.patch("/projects/team-a", json={"weight": None})
    assert project(server, "team-a")["weight"] == 4


def test_a_change_leaves_the_rest(server: RunningServer) -> None:
    server.admin.post("/projects", json={"name": "team-a", "quota": 4, "limit": 8})
    changed = server.admin.patch("/projects/team-a", json={"limit": None})
    assert (changed.json()["quota"], changed.json()["limit"]) == (4, None)


@pytest.mark.parametrize("body", [{"quota": -1}, {"quota": 0.005}, {"weight": "x"}, {"min_runtime": -5}, {"qouta": 1}])
def test_bad_settings(server: RunningServer, body: dict[str, Any]) -> None:
    refused = server.admin.patch("/projects/default", json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")


def test_only_administrators_of_the_site_change_shares(server: RunningServer) -> None:
    maria = server.user("maria", roles={"vision": Role.ADMIN})
    refused = maria.patch("/projects/vision", json={"quota": 4})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert maria.patch("/projects/vision", json={"description": "ours"}).status_code == 200
    assert project(server, "vision")["quota"] == 0


def test_changes_are_in_the_audit_trail(server: RunningServer) -> None:
    server.admin.patch("/projects/default", json={"quota": 4})
    newest = server.admin.get("/audit").json()["items"][0]
    assert (newest["action"], newest["before"], newest["after"]) == ("project.change", {"quota": 0}, {"quota": 400})


def test_quotas_beyond_the_pool_are_accepted_with_a_warning(server: RunningServer) -> None:
    add_agent(server.deps.db, gpus=8)
    fits = server.admin.patch("/projects/default", json={"quota": 8})
    assert fits.json()["warnings"] == []
    too_much = server.admin.post("/projects", json={"name": "team-a", "quota": 1})
    assert too_much.status_code == 201
    assert "add up to 9 GPUs" in too_much.json()["warnings"][0]


def test_pending_jobs_are_counted(server: RunningServer) -> None:
    add_agent(server.deps.db, gpus=4)
    job = {"command": ["true"], "gpu_hundredths": 50}
    assert server.admin.post("/projects/default/jobs", json=job).status_code == 201
    found = project(server, "default")
    assert (found["pending_gpus"], found["pending_jobs"], found["allocated"], found["share"]) == (0.5, 1, 0, 0.5)


@pytest.mark.parametrize("hundredths", [101, 150, 1050])
def test_a_job_has_whole_gpus_or_a_part_of_one(server: RunningServer, hundredths: int) -> None:
    add_agent(server.deps.db, gpus=16)
    refused = server.admin.post("/projects/default/jobs", json={"command": ["true"], "gpu_hundredths": hundredths})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert "0.01 to 0.99" in refused.json()["hint"]
