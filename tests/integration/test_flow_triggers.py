"""Triggers over HTTP: lists, webhooks with signatures, calls that are replayed or too large, two servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from millpond.db.engine import Database
from millpond.errors import Conflict
from millpond.model.people import Role
from millpond.services.flows.triggers import hooks
from millpond.services.flows.triggers.hooks import HookCall, signature_of
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer, running_server

FLOW = """schema: millpond.flow/1
name: retrain
params: {epochs: {type: int, default: 1}}
steps:
  train: {command: ["true"], params: {epochs: "${params.epochs}"}}
triggers:
  - {type: webhook, name: now}
  - {type: cron, cron: "0 3 * * 1", timezone: Europe/Berlin}
"""
PROJECT = "/projects/default"
TRIGGERS = f"{PROJECT}/flows/retrain/triggers"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def server(tmp_path: Path, clock: FakeClock) -> Iterator[RunningServer]:
    with running_server(tmp_path, clock=clock) as running:
        yield running


@pytest.fixture
def maria(server: RunningServer) -> httpx.Client:
    client = server.user("maria", roles={"default": Role.MEMBER})
    saved = client.put(f"{PROJECT}/flows/retrain", content=FLOW)
    assert saved.status_code == 200, saved.text
    return client


@pytest.fixture
def secret(maria: httpx.Client) -> str:
    return str(maria.post(f"{TRIGGERS}/now:rotate-secret").json()["secret"])


def call(server: RunningServer, client: httpx.Client, secret: str, body: bytes = b"", **changed: str) -> httpx.Response:
    """A signed call, unless something of it is changed."""
    stamp = changed.get("stamp", str(server.deps.clock.now().timestamp()))
    path = client.get(f"{TRIGGERS}/now").json()["url"].partition("/hooks/")[2]
    signature = changed.get("signature", f"sha256={signature_of(secret, stamp, body)}")
    headers = {"X-Mill-Timestamp": stamp, "X-Mill-Signature": signature}
    return httpx.post(f"{server.url}/hooks/{changed.get('hook', path)}", content=body, headers=headers, trust_env=False)


def test_triggers_are_listed_with_what_they_wait_for(server: RunningServer, maria: httpx.Client) -> None:
    found = maria.get(f"{PROJECT}/flow-triggers").json()["items"]
    assert [(one["flow"], one["type"], one["title"], one["enabled"], one["run_as"]) for one in found] == [
        ("retrain", "webhook", "Webhook now", True, "maria"),
        ("retrain", "cron", "Schedule 0 3 * * 1 (Europe/Berlin)", True, "maria"),
    ]
    assert "has no secret yet" in found[0]["problem"]
    assert found[0]["url"] == f"{server.url}/hooks/{found[0]['id']}"
    assert found[1]["next_at"] == "2026-01-05T02:00:00+00:00"
    assert maria.get(f"{TRIGGERS}/2").json() == found[1]
    off = maria.post(f"{TRIGGERS}/2:disable").json()
    assert (off["enabled"], off["problem"], off["next_at"]) == (False, "Disabled by maria.", None)
    assert maria.post(f"{TRIGGERS}/2:enable").json()["enabled"] is True
    assert maria.get(f"{PROJECT}/flows/nothing/triggers").status_code == 404
    viewer = server.user("vera", roles={"default": Role.VIEWER})
    assert viewer.get(TRIGGERS).status_code == 200
    assert viewer.post(f"{TRIGGERS}/2:fire", json={}).status_code == 403


def test_a_signed_call_starts_a_run_and_answers_with_it(
    server: RunningServer, maria: httpx.Client, secret: str
) -> None:  # fmt: skip
    answer = call(server, maria, secret, json.dumps({"params": {"epochs": 7}, "sent": "by us"}).encode())
    assert answer.status_code == 201, answer.text
    run = maria.get(f"{PROJECT}/flow-runs/{answer.json()['run']}").json()
    assert run["params"] == {"epochs": 7}
    assert {key: run["trigger"][key] for key in ("type", "by", "commit")} == {
        "type": "webhook",
        "by": "now",
        "commit": None,
    }
    assert answer.json()["written"] == run["written"] == "retrain#1"
    firings = maria.get(f"{PROJECT}/flows/retrain/firings", params={"trigger": "now"}).json()["items"]
    assert [(one["state"], one["run"]) for one in firings] == [("fired", run["id"])]
    assert call(server, maria, secret, b"not JSON at all").status_code == 201
    assert call(server, maria, secret).status_code == 201


def test_calls_that_are_refused(server: RunningServer, maria: httpx.Client, clock: FakeClock, secret: str) -> None:
    now = clock.now().timestamp()

    def refused(status: int, body: bytes = b"", **changed: str) -> Any:
        answer = call(server, maria, secret, body, **changed)
        assert answer.status_code == status, answer.text
        return answer.json()["detail"]

    assert "X-Mill-Signature is missing or wrong" in refused(401, signature="sha256=00")
    assert "X-Mill-Signature is missing or wrong" in refused(401, signature="")
    assert "X-Mill-Timestamp is missing" in refused(401, stamp="")
    assert "X-Mill-Timestamp is missing" in refused(401, stamp="yesterday")
    assert "more than 5 minutes" in refused(401, stamp=str(now - 301))
    assert "more than 5 minutes" in refused(401, stamp=str(now + 301))
    assert "No webhook" in refused(404, hook="nothing")
    assert "params" in refused(400, b'{"params": 5}')
    assert "not started" in refused(409, b'{"params": {"epoch": 5}}')
    assert "larger than" in refused(413, b"x" * (256 * 1024 + 1))
    assert maria.get(f"{PROJECT}/flow-runs").json()["items"] == []
    assert call(server, maria, secret, stamp=str(int(now - 299))).status_code == 201

    other = maria.post(f"{TRIGGERS}/now:rotate-secret").json()["secret"]
    assert "missing or wrong" in refused(401)
    maria.post(f"{TRIGGERS}/now:disable")
    secret = other
    assert "is disabled" in refused(409)


def test_a_call_counts_once_also_at_another_server(server: RunningServer, maria: httpx.Client, secret: str) -> None:
    body, stamp = b'{"params": {}}', str(server.deps.clock.now().timestamp())
    signature = f"sha256={signature_of(secret, stamp, body)}"
    first = call(server, maria, secret, body, stamp=stamp)
    assert first.status_code == 201
    again = call(server, maria, secret, body, stamp=stamp, signature=signature.upper())
    assert again.status_code == 409
    assert again.json()["details"]["run"] == first.json()["run"]
    with closing(Database(server.deps.settings.database)) as db:
        other = replace(server.deps, db=db)
        hook = maria.get(f"{TRIGGERS}/now").json()["id"]
        with pytest.raises(Conflict, match="came before"):
            hooks.call(other, hook, HookCall(stamp, signature, body))
    assert len(maria.get(f"{PROJECT}/flow-runs").json()["items"]) == 1


def test_firing_by_hand(maria: httpx.Client) -> None:
    fired = maria.post(f"{TRIGGERS}/2:fire", json={"params": {"epochs": 2}}).json()
    assert (fired["state"], fired["by"], fired["manual"], fired["written"]) == ("fired", "maria", True, "retrain#1")
    run = maria.get(f"{PROJECT}/flow-runs/{fired['run']}").json()
    assert (run["trigger"]["type"], run["trigger"]["scheduled_at"]) == ("cron", "2026-01-01T12:00:00+00:00")
    answer = maria.post(f"{TRIGGERS}/2:fire", json={"params": {"epochs": "many"}})
    assert (answer.status_code, "not started" in answer.json()["detail"]) == (409, True)


def test_the_secret_is_sealed(server: RunningServer, secret: str) -> None:
    whole = (server.deps.settings.data_dir / "millpond.db").read_bytes()
    wal = server.deps.settings.data_dir / "millpond.db-wal"
    whole += wal.read_bytes() if wal.exists() else b""
    assert secret.encode() not in whole
