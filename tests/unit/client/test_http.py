from __future__ import annotations

import gzip
import json
import threading
from base64 import b64encode
from pathlib import Path

import pytest

from millpond.client.http import Api, segment
from millpond.client.transport import CONNECTIONS
from millpond.errors import BadLogin, MillError, NotFound, NotSignedIn, ServerUnreachable, SetupError, Unavailable
from millpond.testing.website import running_website
from millpond.wire.people import Login, Project
from tests.unit.client.fake_server import Answer, FakeServer, problem

A_PROJECT = {"id": "p1", "name": "vision", "description": "", "created_at": "2026-11-15T20:00:00Z", "role": "admin"}


def test_sends_the_token_and_its_version(server: FakeServer) -> None:
    server.on("GET", "/projects/vision", lambda r: A_PROJECT)
    with Api(server.url, "mill_secret") as api:
        assert api.get("/projects/vision", Project).name == "vision"
    sent = server.received[0].headers
    assert sent["authorization"] == "Bearer mill_secret"
    assert sent["user-agent"].startswith("millpond/")


def test_a_problem_becomes_the_error_of_its_code(server: FakeServer) -> None:
    document = {"hint": "Try another.", "details": {"near": ["xray"], "hint": "a detail, not the hint"}}
    server.on("GET", "/x", lambda r: problem(404, "not_found", "No dataset 'xry'.", **document))
    with Api(server.url) as api, pytest.raises(NotFound) as caught:
        api.request("GET", "/x")
    assert caught.value.message == "No dataset 'xry'."
    assert caught.value.hint == "Try another."
    assert caught.value.details["near"] == ["xray"]
    assert caught.value.details["request_id"] == "req-1"


def test_a_code_of_a_newer_server_is_still_an_error(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: problem(418, "teapot", "I am one."))
    with Api(server.url) as api, pytest.raises(MillError, match="I am one"):
        api.request("GET", "/x")


def test_not_signed_in_says_how(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: problem(401, "not_signed_in", "You are not signed in."))
    with Api(server.url) as api, pytest.raises(NotSignedIn) as caught:
        api.request("GET", "/x")
    assert "mill login" in (caught.value.hint or "")


def test_something_else_listening_is_told_apart(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: Answer(404, b"<html>nginx</html>", "text/html"))
    with Api(server.url) as api, pytest.raises(NotFound) as caught:
        api.request("GET", "/x")
    assert "not look like a Millpond server" in (caught.value.hint or "")


def test_an_answer_of_the_wrong_shape_is_an_error_and_no_traceback(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: {"hello": "world"})
    with Api(server.url) as api, pytest.raises(MillError, match="not a Project"):
        api.get("/x", Project)


def test_a_server_that_never_answered_is_reported_at_once(server: FakeServer) -> None:
    server.stop()
    pauses: list[float] = []
    with Api(server.url, sleep=pauses.append) as api, pytest.raises(ServerUnreachable) as caught:
        api.request("GET", "/x")
    assert pauses == []
    assert "mill up" in (caught.value.hint or "")
    assert caught.value.exit_code == 6


def test_what_the_system_says_is_all_that_is_said(server: FakeServer) -> None:
    server.stop()
    with Api(server.url) as api, pytest.raises(ServerUnreachable) as caught:
        api.request("GET", "/x")
    assert caught.value.message == f"The server {server.url} cannot be reached: Connection refused"


def test_a_server_that_takes_too_long(server: FakeServer) -> None:
    release = threading.Event()
    server.on("GET", "/x", lambda r: release.wait(30) and {})
    with Api(server.url, timeout=0.05) as api, pytest.raises(ServerUnreachable) as caught:
        api.request("GET", "/x")
    release.set()
    assert caught.value.message == f"The server {server.url} does not answer in time: timed out"


def test_an_answer_that_breaks_off(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: Answer(body=b"half", headers={"Content-Length": "8"}))
    with Api(server.url) as api:
        with pytest.raises(ServerUnreachable, match="IncompleteRead"):
            api.request("GET", "/x")
        came = bytearray()
        with pytest.raises(ServerUnreachable), api.stream("/x", 1 << 16) as answer:
            for piece in answer.pieces:
                came += piece
        assert came == b"half", "what has arrived can be gone on from"


def test_what_was_never_sent_is_sent_again(server: FakeServer) -> None:
    server.on("POST", "/x", lambda r: {})
    with Api(server.url, sleep=lambda seconds: server.start()) as api:
        api.request("POST", "/x")
        server.stop()
        assert api.request("POST", "/x").status == 200
    assert len(server.received) == 2


def test_what_may_have_arrived_is_not_sent_again(server: FakeServer) -> None:
    server.on("POST", "/x", lambda r: {})
    with Api(server.url) as api:
        api.request("POST", "/x")
        server.on("POST", "/x", lambda r: Answer(headers={"Content-Length": "8"}))
        with pytest.raises(ServerUnreachable):
            api.request("POST", "/x")
    assert len(server.received) == 2


def test_streams_that_are_left_early_give_their_connection_back(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: Answer(body=bytes(1 << 20)))
    with Api(server.url, timeout=5.0) as api:
        for _ in range(CONNECTIONS + 1):
            with api.stream("/x", 1 << 10) as answer:
                assert 0 < len(next(answer.pieces)) <= 1 << 10
        with api.stream("/x", 1 << 16) as answer:
            assert b"".join(answer.pieces) == bytes(1 << 20)


def test_an_error_in_place_of_a_stream(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: problem(404, "not_found", "No such file."))
    with Api(server.url) as api, pytest.raises(NotFound, match="No such file"), api.stream("/x", 1 << 16):
        pass


def test_redirections_are_not_followed(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: Answer(302, headers={"Location": "/api/v1/y"}))
    with Api(server.url) as api, pytest.raises(MillError, match="answered 302 Found"):
        api.request("GET", "/x")
    assert len(server.received) == 1


def test_answers_may_come_compressed(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: Answer(body=gzip.compress(b"text"), headers={"Content-Encoding": "gzip"}))
    with Api(server.url) as api:
        assert api.request("GET", "/x").content == b"text"
        with api.stream("/x", 1 << 16) as answer:
            assert b"".join(answer.pieces) == b"text"


def test_what_is_asked_for_is_escaped(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: {})
    with Api(server.url) as api:
        api.request("GET", "/x", params={"path": "a b/ä&c#+%", "force": True, "limit": 5, "cursor": None})
    assert server.received[0].query == {"path": "a b/ä&c#+%", "force": "true", "limit": "5"}


def test_bodies_arrive_whole(server: FakeServer) -> None:
    server.on("PUT", "/x", lambda r: {"length": len(r.body)})
    with Api(server.url) as api:
        for body in (b"", bytes(3), bytes((1 << 20) + 7)):
            assert api.request("PUT", "/x", body=body).content == json.dumps({"length": len(body)}).encode()
    assert all("transfer-encoding" not in received.headers for received in server.received)


def test_a_server_that_restarts_is_waited_for(server: FakeServer) -> None:
    server.on("GET", "/x", lambda r: {})
    pauses: list[float] = []

    def come_back(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            server.start()

    with Api(server.url, sleep=come_back) as api:
        api.request("GET", "/x")
        server.stop()
        assert api.request("GET", "/x").status == 200
    assert len(pauses) == 3
    assert pauses[0] < pauses[2]


def test_a_busy_server_is_asked_again_only_if_that_is_safe(server: FakeServer) -> None:
    answers = [Answer(), problem(503, "unavailable", "busy"), Answer()]
    server.on("GET", "/x", lambda r: answers.pop(0))
    server.on("POST", "/x", lambda r: problem(503, "unavailable", "busy"))
    with Api(server.url, sleep=lambda s: None) as api:
        api.request("GET", "/x")
        api.request("GET", "/x")
        with pytest.raises(Unavailable):
            api.request("POST", "/x")
    assert len(server.calls("GET", "/x")) == 3
    assert len(server.calls("POST", "/x")) == 1


def test_a_wrong_password_is_tried_once(server: FakeServer) -> None:
    server.on("POST", "/session", lambda r: problem(401, "bad_login", "The user name or the password is wrong."))
    with Api(server.url) as api, pytest.raises(BadLogin):
        api.request("POST", "/session", body=Login(name="a", password="b"))
    assert len(server.received) == 1


def test_lists_are_read_page_by_page_and_no_further_than_needed(server: FakeServer) -> None:
    def page(received: object) -> object:
        cursor = int(received.query.get("cursor", "0"))  # type: ignore[attr-defined]
        items = [{**A_PROJECT, "name": f"p{cursor + i}"} for i in range(2)]
        return {"items": items, "next": str(cursor + 2) if cursor < 4 else None}

    server.on("GET", "/projects", page)
    with Api(server.url) as api:
        assert [p.name for p in api.items("/projects", Project)] == [f"p{i}" for i in range(6)]
        server.received.clear()
        assert [p.name for p in api.items("/projects", Project, at_most=3)] == ["p0", "p1", "p2"]
    assert len(server.received) == 2


def test_local_servers_are_never_reached_through_a_proxy(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.on("GET", "/x", lambda r: {})
    with Api(server.url) as api:
        assert api.request("GET", "/x").status == 200


def test_other_servers_are_reached_through_the_proxy(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.on("GET", "/x", lambda r: {"through": "proxy"})
    with Api("http://mill.example.org") as api:
        assert api.request("GET", "/x").content == b'{"through": "proxy"}'
    monkeypatch.setenv("http_proxy", server.url.replace("http://", "http://maria:p%40ss@"))
    with Api("http://mill.example.org") as api:
        api.request("GET", "/x")
    signed_in = [received.headers.get("proxy-authorization") for received in server.received]
    assert signed_in == [None, f"Basic {b64encode(b'maria:p@ss').decode()}"]


def test_a_proxy_that_is_away_is_named(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.stop()
    with Api("http://mill.example.org") as api, pytest.raises(ServerUnreachable, match="refused") as caught:
        api.request("GET", "/x")
    assert "the proxy 127.0.0.1" in (caught.value.hint or "")


def test_a_proxy_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://maria:secret@proxy:1080")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(SetupError) as caught:
        Api("http://mill.example.org")
    assert caught.value.message == "The proxy socks5://proxy cannot be used."


def test_certificates_are_those_the_machine_trusts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running_website(tmp_path) as site:
        site.files["/api/v1/x"] = b"{}"
        with Api(site.url("", host="localhost")) as api:
            assert api.request("GET", "/x").status == 200
        monkeypatch.delenv("SSL_CERT_FILE")
        with Api(site.url("", host="localhost")) as api, pytest.raises(ServerUnreachable, match="CERTIFICATE_VERIFY_F"):
            api.request("GET", "/x")


@pytest.mark.parametrize(
    ("text", "escaped"), [("a/b", "a%2Fb"), ("train#2", "train%232"), ("..", "%2E%2E"), ("ä?", "%C3%A4%3F")]
)
def test_segments_cannot_change_the_path(server: FakeServer, text: str, escaped: str) -> None:
    assert segment(text) == escaped
    server.on("GET", "/jobs/[^/]+/why", lambda r: {})
    with Api(server.url) as api:
        api.request("GET", f"/jobs/{segment(text)}/why")
    assert server.received[0].path == f"/jobs/{escaped}/why"
