"""The administrator's diagnosis: each finding with what to do, and only what is broken counts as an error."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from millpond.db import audit as audit_rows
from millpond.db.audit import Forwarded
from millpond.model.people import Role
from millpond.services import server_doctor
from millpond.services.audits.forwarding import target_key
from millpond.services.audits.receivers import Target
from millpond.services.health import Health
from millpond.testing.builders_work import add_job
from millpond.testing.clock import NOON, FakeClock
from millpond.testing.server import RunningServer

FIELDS = {"name", "ok", "message", "hint", "level"}


def checks_of(server: RunningServer) -> dict[str, dict[str, Any]]:
    answer = server.admin.get("/doctor/server")
    assert answer.status_code == 200, answer.text
    return {check["name"]: check for check in answer.json()["checks"]}


def test_an_operator_is_told_of_everything(server: RunningServer) -> None:
    (server.deps.settings.data_dir / "millpond.db").chmod(0o600)
    found = checks_of(server)
    assert {
        "versions", "database", "migrations", "database size", "lake", "lake latency", "records", "disk", "clock",
        "keys",
        "encryption", "backups", "loops", "agent", "volume", "volume space", "fills", "sources", "mirrors", "queue",
        "quotas", "servers", "audit log",
    } <= found.keys()  # fmt: skip
    assert all(check.keys() == FIELDS for check in found.values())
    assert [name for name, check in found.items() if check["level"] == "error"] == []
    assert found["agent"]["level"] == "warning" and found["agent"]["hint"]


def test_it_is_for_administrators_alone(server: RunningServer) -> None:
    assert server.user("boss", roles={"default": Role.ADMIN}).get("/doctor/server").status_code == 403
    assert server.client().get("/doctor/server").status_code == 401


def test_a_loop_that_fails_again_and_again_is_an_error(server: RunningServer, clock: FakeClock) -> None:
    rounds = server.deps.rounds
    rounds.note("evict", 0.1, False, clock.now())
    assert checks_of(server)["loops"]["level"] == "ok"
    rounds.note("backups", 0.1, True, clock.now())
    assert checks_of(server)["loops"]["level"] == "warning"
    for _ in range(3):
        rounds.note("backups", 0.1, True, clock.now())
    found = checks_of(server)["loops"]
    assert found["level"] == "error" and "backups failed 4 times" in found["message"]
    rounds.note("backups", 0.1, False, clock.now())
    assert checks_of(server)["loops"]["level"] == "ok"


def test_keys_that_others_can_read_are_an_error(server: RunningServer) -> None:
    key = server.deps.settings.secret_key
    key.write_text("key")
    key.chmod(0o644)
    found = checks_of(server)["keys"]
    assert found["level"] == "error" and found["hint"].startswith("Run: chmod 600 ") and str(key) in found["hint"]
    (server.deps.settings.data_dir / "millpond.db").chmod(0o600)
    key.chmod(0o600)
    assert checks_of(server)["keys"]["level"] == "ok"


def test_a_queue_that_waits_long_and_a_quota_nearly_used_are_warnings(server: RunningServer, clock: FakeClock) -> None:
    add_job(server.deps.db, project="default", id="job00001", queued_at=NOON - timedelta(hours=2))
    server.admin.patch("/projects/default/quota", json={"lake_bytes": 0})
    found = checks_of(server)
    assert found["queue"]["level"] == "warning" and "1 job waiting, the longest for 2 h" in found["queue"]["message"]
    assert found["quotas"]["level"] == "warning" and "default: all of lake" in found["quotas"]["message"]


def test_a_receiver_of_the_audit_log_that_is_away_is_an_error(server: RunningServer, clock: FakeClock) -> None:
    url = "tcp://127.0.0.1:9"
    deps = replace(server.deps, settings=replace(server.deps.settings, audit_syslog=url))
    with deps.db.write() as tx:
        gone = Forwarded(0, None, clock.now() - timedelta(hours=1), "Connection refused")
        audit_rows.set_forwarded(tx, target_key(Target.parse(url)), gone)
    found = next(one for one in server_doctor.examine(deps, Health(deps)) if one.name == "audit log")
    assert found.level == "error" and "cannot be reached for 1 h" in found.message and "waiting" in found.message


def test_a_check_that_cannot_be_made_is_an_error_and_the_others_are_told(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> Any:
        raise OSError("no such thing")

    monkeypatch.setattr(server_doctor, "_keys", broken)
    found = checks_of(server)
    assert found["keys"]["level"] == "error" and "Cannot check this: no such thing" in found["keys"]["message"]
    assert found["quotas"]["level"] == "ok"


def test_listening_without_tls_is_a_warning(server: RunningServer, tmp_path: Path) -> None:
    deps = replace(server.deps, settings=replace(server.deps.settings, host="0.0.0.0"))
    found = next(one for one in server_doctor.examine(deps, Health(deps)) if one.name == "encryption")
    assert (found.level, found.ok) == ("warning", False)
