"""Secrets of a project: who may set and see them, how they lie in the database, what an agent is told."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import select

from millpond.db import audit, computes
from millpond.db.tables import secret as secret_table
from millpond.model.people import Role
from millpond.services.computes.desired import desired_placements
from millpond.services.jobs.schedule import run_once
from millpond.testing.builders_work import add_agent
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer, running_server

PATH = "/projects/default/secrets"
VALUE = "hunter-two, and more"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server"), clock=FakeClock()) as running:
        yield running


@pytest.fixture(scope="module")
def admin(server: RunningServer) -> httpx.Client:
    return server.user("ada", roles={"default": Role.ADMIN})


@pytest.fixture(scope="module")
def member(server: RunningServer) -> httpx.Client:
    return server.user("maria", roles={"default": Role.MEMBER})


def put(client: httpx.Client, name: str, value: str = VALUE) -> httpx.Response:
    return client.put(f"{PATH}/{name}", json={"value": value})


def test_administrators_set_members_see_names_nobody_reads(
    server: RunningServer, admin: httpx.Client, member: httpx.Client
) -> None:
    made = put(admin, "KEY")
    assert (made.status_code, made.json()["name"], made.json()["changed_by"]) == (200, "KEY", "ada")
    listed = member.get(PATH)
    assert [item["name"] for item in listed.json()["items"]] == ["KEY"]
    assert VALUE not in made.text + listed.text
    assert put(member, "KEY").status_code == 403
    assert member.delete(f"{PATH}/KEY").status_code == 403
    viewer = server.user("vera", roles={"default": Role.VIEWER})
    assert viewer.get(PATH).status_code == 403
    stranger = server.user("sten", roles={})
    assert stranger.get(PATH).status_code == 404


def test_it_lies_sealed_and_changes_are_noted(server: RunningServer, admin: httpx.Client) -> None:
    put(admin, "SEALED")
    put(admin, "SEALED", "another value")
    with server.deps.db.read() as tx:
        row = tx.execute(select(secret_table).where(secret_table.c.name == "SEALED")).one()
        noted = [entry for entry in audit.page(tx, limit=100) if entry.subject == "default/SEALED"]
    assert b"value" not in row.value and b"hunter" not in row.value
    assert {entry.action for entry in noted} == {"secret.create", "secret.change"}
    assert all("value" not in str(entry.details) for entry in noted)
    assert server.deps.seal.open(row.value, f"secret {row.id}") == "another value"


@pytest.mark.parametrize("name", ["1ST", "MILL_TOKEN", "with-dash", "N" * 64])
def test_names_that_no_variable_can_have(admin: httpx.Client, name: str) -> None:
    answer = put(admin, name)
    assert answer.status_code == 422 and VALUE not in answer.text


@pytest.mark.parametrize("value", ["", "a\0b", "x" * 40_000])
def test_values_that_cannot_be(admin: httpx.Client, value: str) -> None:
    answer = put(admin, "ODD", value)
    assert answer.status_code == 422
    assert not value or value not in answer.text


def test_a_job_names_what_there_is(admin: httpx.Client, member: httpx.Client) -> None:
    put(admin, "KNOWN")
    unknown = member.post("/projects/default/jobs", json={"command": ["true"], "secrets": {"A": "KNOWM"}})
    assert unknown.status_code == 404 and "KNOWN" in unknown.text
    both = {"command": ["true"], "secrets": {"A": "KNOWN"}, "env": {"A": "1"}}
    assert member.post("/projects/default/jobs", json=both).status_code == 422
    ours = {"command": ["true"], "secrets": {"MILL_TOKEN": "KNOWN"}}
    assert member.post("/projects/default/jobs", json=ours).status_code == 422


def test_only_the_agent_that_runs_it_is_told(server: RunningServer, admin: httpx.Client, member: httpx.Client) -> None:
    put(admin, "TOKEN")
    body = {"name": "using", "command": ["true"], "secrets": {"HUB": "TOKEN"}}
    job = member.post("/projects/default/jobs", json=body).json()
    assert job["secrets"] == {"HUB": "TOKEN"}
    refused = admin.delete(f"{PATH}/TOKEN")
    assert refused.status_code == 409 and "using" in refused.text
    deps = server.deps
    agent = add_agent(deps.db).agent
    run_once(deps, deps.clock.now())
    with deps.db.read() as tx:
        wanted = desired_placements(tx, agent, deps.secret, deps.seal, log_bytes=0)
        others = [one.agent for one in computes.all_computes(tx) if one.agent and one.agent.id != agent.id]
        assert all(not desired_placements(tx, one, deps.secret, deps.seal, log_bytes=0) for one in others)
    assert [one.secrets for one in wanted] == [{"HUB": VALUE}]
    assert VALUE not in member.get(f"/projects/default/jobs/{job['id']}").text
    with deps.db.write() as tx:
        tx.execute(secret_table.delete().where(secret_table.c.name == "TOKEN"))
    with deps.db.read() as tx:
        gone = desired_placements(tx, agent, deps.secret, deps.seal, log_bytes=0)
    assert [one.secrets for one in gone] == [{"HUB": None}], "the agent must not start it without"
