"""POST and PATCH that are sent again with their key are done once, whatever became of the server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import text

from millpond.client.http import Api
from millpond.client.transport import Request, Response
from millpond.db import request_keys
from millpond.errors import ServerUnreachable
from millpond.services.people import sessions
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer, running_server
from millpond.wire.people import ProjectCreate

KEY = {"Idempotency-Key": "a key of the client's own"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("server"), clock=FakeClock()) as server:
        yield server


def make(client: httpx.Client, name: str, **headers: str) -> httpx.Response:
    return client.post("/projects", json={"name": name}, headers=headers)


def test_the_same_request_is_answered_as_it_was(server: RunningServer) -> None:
    admin = server.admin
    first, second = make(admin, "once", **KEY), make(admin, "once", **KEY)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert second.headers["Idempotency-Replayed"] == "true"
    assert make(admin, "once").json()["code"] == "name_taken", "without the key it is another request"
    other = server.user("maria", is_admin=True)
    assert make(other, "once", **KEY).json()["code"] == "name_taken", "and so it is from somebody else"


def test_what_is_shown_once_is_not_in_the_database(server: RunningServer) -> None:
    """A copy of the database must not give anybody the tokens that were just made."""
    key, admin = {"Idempotency-Key": "a key for a token"}, server.admin
    first, second = (admin.post("/tokens", json={"name": "once"}, headers=key) for _ in range(2))
    assert first.status_code == 201
    assert first.json() == second.json()
    with server.deps.db.read() as tx:
        bodies = tx.execute(text("SELECT body FROM request_key WHERE body IS NOT NULL")).scalars().all()
    secret = first.json()["secret"]
    assert bodies
    assert not any(secret.encode() in bytes(body) for body in bodies)


def test_what_was_refused_may_be_tried_again(server: RunningServer) -> None:
    key, admin = {"Idempotency-Key": "another key"}, server.admin
    assert make(admin, "default", **key).json()["code"] == "name_taken"
    assert make(admin, "default-2", **key).status_code == 201
    assert make(server.admin, "x", **{"Idempotency-Key": "short"}).json()["code"] == "bad_request"


def test_a_request_that_was_cut_off_is_not_done_again(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the server had been killed between what it did and its answer."""
    key, admin = {"Idempotency-Key": "a third key"}, server.admin
    with monkeypatch.context() as patch:
        patch.setattr("millpond.api.request_keys.RequestKeys._note", lambda *_: None)
        assert make(admin, "cut-off", **key).status_code == 201
    again = make(admin, "cut-off", **key)
    assert (again.status_code, again.json()["code"]) == (503, "unavailable")
    with server.deps.db.write() as tx:
        tx.execute(text("UPDATE request_key SET server = 'killed' WHERE status IS NULL"))
    again = make(admin, "cut-off", **key)
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert "cut off" in again.json()["detail"]


def test_a_job_that_was_made_before_the_kill_is_the_answer(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, admin = {"Idempotency-Key": "a key of a job"}, server.admin
    asked = {"name": "once", "command": ["true"]}
    with monkeypatch.context() as patch:
        patch.setattr("millpond.api.request_keys.RequestKeys._note", lambda *_: None)
        first = admin.post("/projects/default/jobs", json=asked, headers=key)
    again = admin.post("/projects/default/jobs", json=asked, headers=key)
    assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(admin.get("/jobs").json()["items"]) == 1


def test_keys_are_forgotten_after_a_day(server: RunningServer) -> None:
    make(server.admin, "forgotten", **{"Idempotency-Key": "a fourth key"})
    clock = server.deps.clock
    assert isinstance(clock, FakeClock)
    clock.advance(timedelta(days=2).total_seconds())
    sessions.expire(server.deps)
    with server.deps.db.read() as tx:
        assert tx.scalar(text("SELECT count(*) FROM request_key")) == 0
    assert request_keys.PENDING.get() is None


def test_clients_repeat_what_changes_something_when_the_answer_was_lost(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Api(server.url, server.token_of("admin"), sleep=lambda _: None) as api:
        api.request("GET", "/projects")
        exchange, lost = api._transport.exchange, []

        def losing(request: Request) -> Response:
            answer = exchange(request)
            if not lost:
                lost.append(answer)
                raise ServerUnreachable("The connection broke.")
            return answer

        monkeypatch.setattr(api._transport, "exchange", losing)
        answer = api.request("POST", "/projects", body=ProjectCreate(name="lost-answer"))
    assert lost[0].content == answer.content
