"""Notifications by the API, the command line and the SDK: what one sees, chooses, and adds; nobody sees another's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import httpx
import pytest

import millpond
from millpond.client.credentials import save_token
from millpond.db import notices, projects, users
from millpond.model.notification import Notice, NotificationKind
from millpond.model.people import Role
from millpond.services.notifications import delivering, telling
from millpond.testing.clock import FakeClock
from millpond.testing.mail import Mail, running_mail, running_receiver
from millpond.testing.server import RunningServer, running_server
from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill, ServerHere


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server"), clock=FakeClock(), import_hosts="127.0.0.1") as made:
        yield made


@pytest.fixture
def mail(tmp_path: Path) -> Iterator[Mail]:
    with running_mail(tmp_path) as made:
        yield made


@pytest.fixture
def mill(server: RunningServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Mill:
    """As the site administrator."""
    home = tmp_path / "home"
    save_token(home, server.url, server.token_of("admin"))
    return Mill(ServerHere(server.url, tmp_path, home), capsys, tmp_path)


def happen(server: RunningServer, owner: str, *, project: str = "vision", title: str = "Job train failed") -> None:
    now = server.deps.clock.now()
    with server.deps.db.write() as tx:
        found = projects.find(tx, project)
        assert found is not None
        link = f"/projects/{project}/jobs/job1"
        notices.insert(
            tx,
            Notice(
                kind=NotificationKind.JOB_FAILED, at=now, title=title, text="Exit code 1.", link=link,
                project_id=found.id, subject_id="job1", owner=owner,
            ),
        )  # fmt: skip
    telling.tell_all(server.deps, now)


def listed(client: httpx.Client, **query: object) -> list[str]:
    answer = client.get("/notifications", params=dict(query))  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return [one["title"] for one in answer.json()["items"]]


def test_each_sees_and_marks_their_own(server: RunningServer) -> None:
    ada = server.user("ada", roles={"vision": Role.MEMBER, "speech": Role.MEMBER})
    ben = server.user("ben", roles={"vision": Role.ADMIN})
    happen(server, "ada")
    happen(server, "ada", project="speech", title="Job listen failed")
    assert (listed(ada, project="vision"), listed(ben)) == (["Job train failed"], [])
    found = ada.get("/notifications").json()
    assert (found["unread"], len(found["items"])) == (2, 2)
    ids = [one["id"] for one in found["items"]]
    assert ben.post("/notifications/read", json={"ids": ids}).json() == {"marked": 0}
    assert ada.post("/notifications/read", json={"ids": ids[:1]}).json() == {"marked": 1}
    assert len(listed(ada, unread=True)) == 1
    first = ada.get("/notifications", params={"limit": 1}).json()
    rest = ada.get("/notifications", params={"limit": 1, "cursor": first["next"]}).json()
    assert [one["id"] for one in first["items"] + rest["items"]] == ids


def test_a_stream_tells_a_user_of_their_own_alone(server: RunningServer) -> None:
    server.user("cleo", roles={"vision": Role.MEMBER})
    server.user("dora", roles={"vision": Role.MEMBER})
    with server.deps.db.read() as tx:
        cleo, dora = users.find(tx, "cleo"), users.find(tx, "dora")
    assert cleo is not None and dora is not None
    topics = f"notifications:{cleo.id},notifications:{dora.id},jobs"

    async def follow() -> list[str]:
        """As Cleo, until her own event comes."""
        headers = {"Authorization": f"Bearer {server.token_of('cleo')}"}
        heard: list[str] = []
        async with (
            httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as client,
            client.stream("GET", f"{server.url}/api/v1/events", params={"topics": topics}, headers=headers) as answer,
        ):
            async for line in answer.aiter_lines():
                if line.startswith("id:") and not heard:
                    heard.append("begun")
                    await asyncio.to_thread(happen, server, "dora")
                    await asyncio.to_thread(happen, server, "cleo")
                if line.startswith("event:"):
                    heard.append(line.removeprefix("event: "))
                    return heard
        return heard

    assert asyncio.run(follow()) == ["begun", f"notifications:{cleo.id}"]


def test_the_command_line_from_choice_to_message(server: RunningServer, mill: Mill, mail: Mail) -> None:
    server.project("vision")
    done = mill("notification", "smtp", "set", "127.0.0.1", "--port", str(mail.port), "--tls", "none", "--from",
                "millpond@lab.example", "--to-domain", "example.org", "--json")  # fmt: skip
    assert (done.code, done.json["has_password"]) == (0, False)
    assert mill("notification", "smtp", "test", "root@example.org").code == 0
    refused = mill("notification", "smtp", "test", "root@elsewhere.test")
    assert (refused.code, "only to example.org" in refused.err) == (2, True)
    added = mill("notification", "channel", "add", "mail", "--email", "root@example.org", "--kind", "job-failed")
    assert (added.code, "mill notification channel test mail" in added.err) == (0, True)
    chosen = mill("notification", "set", "job-failed=all", "--project", "vision", "--json")
    assert {one["kind"]: one["whose"] for one in chosen.json["items"]}["job-failed"] == "all"
    happen(server, "somebody")
    now = server.deps.clock
    assert isinstance(now, FakeClock)
    assert delivering.send_due(server.deps, now.advance(10)) == 1
    assert [message["Subject"] for message in mail.messages] == [
        "[Millpond] Test", "[Millpond] Job train failed (vision)",
    ]  # fmt: skip
    sent = mill("notification", "channel", "deliveries", "mail", "--json").json["items"]
    assert [(one["state"], one["status"], one["attempts"]) for one in sent] == [("sent", 250, 1)]
    assert "Job train failed" in mill("notification", "list").out
    assert "1 notification marked" in mill("notification", "read", "--all").err
    assert mill("notification", "list", "--unread", "--json").json == {"items": []}
    assert mill("notification", "channel", "rm", "mail", "--yes").code == 0
    assert mill("notification", "smtp", "rm", "--yes").code == 0


def test_a_secret_is_shown_once(server: RunningServer, mill: Mill) -> None:
    server.project("vision")
    with running_receiver() as receiver:
        url = receiver.url
        made = mill("notification", "channel", "add", "chat", "--webhook", url, "--project", "vision", "--json").json
        assert made["secret"] and made["to"] == f"http://127.0.0.1:{receiver.port}/…"
        listing = mill("notification", "channel", "list", "--project", "vision", "--json")
        assert made["secret"] not in listing.out and "secret-path" not in listing.out
        tested = mill("notification", "channel", "test", "chat", "--project", "vision")
        assert (tested.code, len(receiver.documents)) == (0, 1)
        server.deps.clock.advance(10)  # type: ignore[attr-defined]
        receiver.answers = [404]
        tested = mill("notification", "channel", "test", "chat", "--project", "vision")
        assert (tested.code, "answered 404" in tested.err) == (1, True)
    audit = json.dumps(server.admin.get("/audit").json())
    assert "channel.add" in audit and "secret-path" not in audit and made["secret"] not in audit


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("set", "job-failed"), "is no choice"),
        (("set", "job-lost=own"), "is not a kind"),
        (("set", "backup-failed=own"), "cannot be own"),
        (("read",), "or --all"),
        (("channel", "add", "x"), "either an e-mail address or a webhook"),
        (("channel", "add", "x", "--email", "nobody"), "not an e-mail address"),
        (("channel", "add", "x", "--webhook", "https://10.0.0.1/"), "not a public address"),
        (("channel", "test", "nothing-here"), "No channel 'nothing-here' found"),
        (("smtp", "set", "h.example", "--from", "a@b.example", "--tls", "maybe"), "--tls must be"),
        (("smtp", "set", "h.example", "--from", "a@b.example", "--user", "u"), "password is missing"),
    ],
)
def test_what_makes_no_sense_is_said(mill: Mill, arguments: tuple[str, ...], said: str) -> None:
    done = mill("notification", *arguments)
    assert done.code != 0
    assert said in done.err


def test_a_project_channel_is_its_administrators_matter(server: RunningServer) -> None:
    member = server.user("max", roles={"vision": Role.MEMBER})
    boss = server.user("boss", roles={"vision": Role.ADMIN})
    body = {"name": "team", "email": "vision@example.org"}
    assert member.post("/projects/vision/channels", json=body).status_code == 403
    assert boss.post("/projects/vision/channels", json=body).status_code == 201
    assert boss.post("/projects/vision/channels", json=body).json()["code"] == "name_taken"
    [seen] = [one for one in member.get("/projects/vision/channels").json()["items"] if one["name"] == "team"]
    assert (seen["to"], "job-succeeded" in seen["kinds"]) == ("vision@example.org", False)
    changed = boss.patch("/projects/vision/channels/team", json={"kinds": ["backup-failed"]})
    assert changed.status_code == 422
    assert boss.delete("/projects/vision/channels/team").status_code == 204


def test_a_script_reads_and_marks(server: RunningServer, tmp_path: Path) -> None:
    server.user("eve", roles={"vision": Role.MEMBER})
    happen(server, "eve")
    save_token(tmp_path, server.url, server.token_of("eve"))
    with patch.dict("os.environ", {"MILL_HOME": str(tmp_path), "MILL_SERVER": server.url}):
        [one] = millpond.notifications(unread=True)
        assert (one.title, one.count, one.project) == ("Job train failed", 1, "vision")
        assert millpond.mark_notifications_read([one.id]) == 1
        assert millpond.notifications(unread=True) == []


def test_a_job_that_fails_is_told_by_a_server_that_runs(
    shared_up: MillUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mill = Mill(shared_up, capsys, tmp_path)
    job = mill.ok("submit", "told-of", "--no-code", "--json", "--", "sh", "-c", "exit 3").json["id"]

    def told() -> list[str]:
        items = mill.ok("notification", "list", "--json").json["items"]
        return [one["text"] for told in items for one in told["items"] if one["subject"] == job]

    [why] = wait_until(told, what="the notification")
    assert "3" in why
