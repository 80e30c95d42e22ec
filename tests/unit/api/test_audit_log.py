"""The audit log through the API: where from, before and after, who sees which entries, export and retention."""

from __future__ import annotations

import json
from datetime import timedelta

from millpond.db import audit as rows
from millpond.model.people import SYSTEM, Actor, ActorKind, Role
from millpond.services.audits import retention
from millpond.services.people import audit
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer

DAY = timedelta(days=1)
SOMEBODY = Actor(kind=ActorKind.USER, name="somebody")


def test_an_entry_says_where_from_with_what_and_what_changed(server: RunningServer) -> None:
    admin = server.admin
    admin.post("/users", json={"name": "maria", "password": "long enough", "full_name": "Maria"})
    admin.patch(
        "/users/maria", json={"full_name": "Maria S.", "is_admin": True}, headers={"X-Request-Id": "request-77"}
    )
    changed, made = admin.get("/audit", params={"subject": "maria"}).json()["items"]
    assert changed["before"] == {"full_name": "Maria", "is_admin": False}
    assert changed["after"] == {"full_name": "Maria S.", "is_admin": True}
    assert changed["address"] == "127.0.0.1" and changed["request"] == "request-77"
    token = admin.get("/tokens").json()["items"][-1]
    assert changed["via"].startswith("token ") and token["name"] in changed["via"]
    assert made["before"] == {} and made["after"]["full_name"] == "Maria"


def test_failed_sign_ins_are_recorded_without_what_was_typed(server: RunningServer) -> None:
    for name in ("admin", "my-password-in-the-wrong-field"):
        server.client().post("/session", json={"name": name, "password": "wrong guess"})
    found = server.admin.get("/audit", params={"action": "session.refuse"}).json()["items"]
    assert [one["subject"] for one in found] == ["(unknown name)", "admin"]
    assert {one["address"] for one in found} == {"127.0.0.1"}
    assert "wrong" not in json.dumps(found)


def test_secrets_are_in_no_entry(server: RunningServer) -> None:
    canary = "canary-9f2b71d4"
    admin = server.admin
    admin.put("/projects/default/secrets/HUB", json={"value": canary})
    admin.post("/users", json={"name": "maria", "password": canary})
    admin.patch("/users/maria", json={"password": canary + "2"})
    oidc = {"issuer": "https://id.example.org", "client_id": "mill"}
    admin.post("/auth/providers", json={"name": "corp", "oidc": oidc, "secret": canary})
    admin.patch("/auth/providers/corp", json={"secret": canary + "3"})
    admin.post("/templates", json={"name": "t", "env": {"TOKEN": canary}})
    exported = admin.get("/audit/export").text
    assert {"secret.create", "user.change", "provider.change", "template.create"} <= {
        json.loads(one)["action"] for one in exported.splitlines()
    }
    assert canary not in exported


def test_administrators_of_a_project_see_that_project_alone(server: RunningServer) -> None:
    boss = server.user("boss", roles={"vision": Role.ADMIN, "other": Role.MEMBER})
    boss.post("/projects/vision/datasets", json={"name": "x-ray"})
    server.admin.post("/projects/other/datasets", json={"name": "hidden"})
    found = boss.get("/projects/vision/audit").json()["items"]
    assert {one["project"] for one in found} == {"vision"}
    assert any(one["action"] == "dataset.create" for one in found)
    assert boss.get("/audit").status_code == 403
    assert boss.get("/audit", params={"project": "vision"}).status_code == 403
    assert boss.get("/projects/other/audit").status_code == 403
    assert boss.get("/projects/other/audit/export").status_code == 403
    assert boss.get("/projects/nothing/audit").status_code == 404
    lines = boss.get("/projects/vision/audit/export").text.splitlines()
    assert {json.loads(line)["project"] for line in lines} == {"vision"}
    assert boss.get("/projects/vision/audit").json()["items"][0]["action"] == "audit.export"


def test_pages_follow_each_other_and_filters_hold_on_each(server: RunningServer, clock: FakeClock) -> None:
    with server.deps.db.write() as tx:
        for number in range(25):
            actor = SYSTEM if number % 2 else SOMEBODY
            audit.record(tx, now=clock.now(), actor=actor, action="test.do", subject=f"thing-{number}")
    seen, cursor = [], None
    while True:
        query = {"who": "millpond", "action": "test", "limit": 5, "cursor": cursor}
        answer = server.admin.get("/audit", params={k: v for k, v in query.items() if v is not None}).json()
        seen += [one["subject"] for one in answer["items"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert seen == [f"thing-{number}" for number in range(23, 0, -2)]
    assert server.admin.get("/audit", params={"since": "soon"}).status_code == 422


def test_an_export_has_each_entry_once_in_order(server: RunningServer, clock: FakeClock) -> None:
    with server.deps.db.write() as tx:
        for number in range(1_203):
            audit.record(tx, now=clock.now(), actor=SYSTEM, action="test.do", subject=str(number))
    answer = server.admin.get("/audit/export", params={"action": "test.do"})
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert [json.loads(line)["subject"] for line in answer.text.splitlines()] == [str(n) for n in range(1_203)]
    syslog = server.admin.get("/audit/export", params={"action": "test.do", "format": "syslog"}).text.splitlines()
    assert len(syslog) == 1_203 and all(line.startswith("<109>1 ") for line in syslog)


def test_the_rule_removes_what_is_older_and_says_how_many(server: RunningServer, clock: FakeClock) -> None:
    admin = server.admin
    assert admin.get("/audit/retention").json() == {"keep_seconds": None}
    assert admin.put("/audit/retention", json={"keep_seconds": 86_400}).status_code == 400
    with server.deps.db.write() as tx:
        for _ in range(3):
            audit.record(tx, now=clock.now(), actor=SYSTEM, action="test.old", subject="x")
    assert retention.remove_due(server.deps, clock.now() + 500 * DAY) == 0, "for ever, unless somebody sets a rule"
    clock.advance(401 * 86_400)
    admin = server.admin
    assert admin.put("/audit/retention", json={"keep_seconds": 400 * 86_400}).status_code == 200
    removed = retention.remove_due(server.deps, clock.now())
    assert removed >= 3
    with server.deps.db.read() as tx:
        left = rows.page(tx, limit=100)
    assert [(one.action, one.details.get("removed")) for one in left] == [
        ("audit.expire", removed), ("audit.retention", None),
    ]  # fmt: skip
    assert left[1].after == {"keep_seconds": 400 * 86_400}
    assert retention.remove_due(server.deps, clock.now()) == 0
