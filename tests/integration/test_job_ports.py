"""A port of a job in a browser: a ticket, a host of its own, HTTP and WebSockets, and what must not pass."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from millpond.api.ports.app import is_job_host, label
from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until

# Tells what it was asked, sets cookies, leads elsewhere; and a WebSocket that answers.
SERVING = """
import http.server, json, os, pathlib, threading
from websockets.sync.server import serve

class Asked(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        said = json.dumps({"path": self.path, "headers": {k.lower(): v for k, v in self.headers.items()},
                           "body": body.decode(), "connection": self.client_address[1]}).encode()
        self.send_response(302 if self.path == "/away" else 200)
        self.send_header("Content-Length", str(len(said)))
        self.send_header("Set-Cookie", "mine=1; Domain=localhost; Path=/")
        self.send_header("Set-Cookie", "mill_session=stolen; Path=/")
        self.send_header("Location", f"http://localhost:{self.server.server_port}/there")
        self.end_headers()
        self.wfile.write(said)
    do_GET = do_POST = answer
    def log_message(self, *_): pass

web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked)
threading.Thread(target=web.serve_forever, daemon=True).start()
def talk(socket):
    for message in socket:
        socket.send(message.upper() if isinstance(message, str) else message[::-1])
with serve(talk, "127.0.0.1", 0, subprotocols=["second"]) as sockets:
    print(web.server_port, sockets.socket.getsockname()[1], flush=True)
    sockets.serve_forever()
"""


@dataclass(frozen=True)
class Serving:
    """A job, and where it listens."""

    admin: httpx.Client
    job: str
    http: int
    socket: int

    def open(self, port: int) -> str:
        answer = self.admin.post(f"/projects/default/jobs/{self.job}/ports/{port}/open")
        assert answer.status_code == 201, answer.text
        return str(answer.json()["url"])


@pytest.fixture(scope="module")
def server(shared_up: MillUp) -> MillUp:
    return shared_up


@pytest.fixture(scope="module")
def serving(server: MillUp) -> Iterator[Serving]:
    with server.client() as admin:
        body = {"name": "serving", "command": [sys.executable, "-c", SERVING]}
        job = admin.post("/projects/default/jobs", json=body).json()["id"]
        place = f"/projects/default/jobs/{job}"
        log = wait_until(lambda: admin.get(f"{place}/log").text.strip(), what="the job to listen")
        wait_until(lambda: admin.get(place).json()["state"] == "running", what="the server to hear of it")
        yield Serving(admin, job, *map(int, log.split()))
        admin.post(f"{place}/stop")
        wait_until(lambda: admin.get(place).json()["ended_at"], what="the job's end")


def at(url: str, **headers: str) -> httpx.Client:
    """A browser at the origin of `url`: names that end with .localhost are this machine."""
    parts = urlsplit(url)
    return httpx.Client(
        base_url=f"http://127.0.0.1:{parts.port}",
        headers={"Host": parts.netloc, **headers},
        trust_env=False,
        timeout=60,
    )


def opened(serving: Serving, port: int) -> tuple[str, str]:
    """The origin, and the cookie that the ticket was worth."""
    url = serving.open(port)
    parts = urlsplit(url)
    with at(url) as browser:
        answer = browser.get(parts.path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=lax" in cookie
        assert browser.get(parts.path).status_code == 403, "a ticket is good for one time"
    return f"{parts.scheme}://{parts.netloc}", cookie.partition(";")[0]


def test_requests_reach_the_job_as_if_it_were_local(serving: Serving) -> None:
    origin, cookie = opened(serving, serving.http)
    with at(origin, Cookie=f"{cookie}; mill_session=secret; its=own", Origin=origin) as browser:
        answer = browser.post("/lab/tree?x=a%20b", content="hello")
    seen = answer.json()
    assert (seen["path"], seen["body"]) == ("/lab/tree?x=a%20b", "hello")
    assert seen["headers"]["host"] == f"localhost:{serving.http}"
    assert seen["headers"]["origin"] == f"http://localhost:{serving.http}"
    assert seen["headers"]["cookie"] == "its=own", "nothing of Millpond's reaches the job"
    assert answer.headers.get_list("set-cookie") == ["mine=1; Path=/"], "for this host alone, and no session of ours"


def test_places_inside_become_places_outside(serving: Serving) -> None:
    origin, cookie = opened(serving, serving.http)
    with at(origin, Cookie=cookie) as browser:
        assert browser.get("/away").headers["location"] == f"{origin}/there"


def test_connections_are_used_again(serving: Serving) -> None:
    origin, cookie = opened(serving, serving.http)
    with at(origin, Cookie=cookie) as browser:
        used = [browser.get("/").json()["connection"] for _ in range(5)]
    assert len(set(used)) < len(used)


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": ""},
        {"Cookie": "mill_port=made-up.x"},
        {"Origin": "http://elsewhere.example"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"},
    ],
)
def test_others_do_not_pass(serving: Serving, headers: dict[str, str]) -> None:
    origin, cookie = opened(serving, serving.http)
    with at(origin, **({"Cookie": cookie} | headers)) as browser:
        assert browser.get("/").status_code in (401, 403)


def test_a_cookie_is_worth_nothing_at_another_job(serving: Serving) -> None:
    origin, cookie = opened(serving, serving.http)
    other = origin.replace(serving.job, "another")
    with at(other, Cookie=cookie) as browser:
        assert browser.get("/").status_code == 403


def test_web_sockets(serving: Serving) -> None:
    origin, cookie = opened(serving, serving.socket)
    with socket_at(origin, Origin=origin, Cookie=cookie) as socket:
        assert socket.subprotocol == "second"
        socket.send("hello")
        assert socket.recv() == "HELLO"
        socket.send(bytes(range(256)) * 4000)
        assert socket.recv() == bytes(reversed(bytes(range(256)) * 4000))


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://elsewhere.example"}])
def test_web_sockets_of_other_pages_do_not_pass(serving: Serving, headers: dict[str, str]) -> None:
    origin, cookie = opened(serving, serving.socket)
    with pytest.raises((InvalidStatus, ConnectionClosed)), socket_at(origin, Cookie=cookie, **headers) as socket:
        socket.recv()


def socket_at(origin: str, **headers: str) -> Any:
    parts = urlsplit(origin)
    return connect(
        f"ws://{parts.netloc}/api/kernels?session=1", address=("127.0.0.1", parts.port), proxy=None,
        additional_headers=headers, subprotocols=["first", "second"], max_size=None,
    )  # fmt: skip


def test_a_port_nobody_listens_at(serving: Serving) -> None:
    origin, cookie = opened(serving, 1)
    with at(origin, Cookie=cookie) as browser:
        answer = browser.get("/")
    assert answer.status_code == 409
    assert "No process of the job listens" in answer.text


def test_a_rank_that_is_not_there(serving: Serving) -> None:
    answer = serving.admin.post(f"/projects/default/jobs/{serving.job}/ports/{serving.http}/open", params={"rank": 1})
    assert answer.status_code == 400
    assert "is not distributed: there is no rank 1" in answer.json()["detail"]


def test_every_rank_has_hosts_of_its_own() -> None:
    hosts = [f"{label('ab12', 8888, rank)}.localhost" for rank in (0, 1)]
    assert hosts == ["8888-ab12.localhost", "8888-r1-ab12.localhost"]
    for host in hosts:
        assert is_job_host({"type": "http", "headers": [(b"host", host.encode())]})


def test_only_members_open_ports(server: MillUp, serving: Serving) -> None:
    admin = serving.admin
    admin.post("/users", json={"name": "vera", "password": "a long enough password"})
    admin.put("/projects/default/members/vera", json={"role": "viewer"})
    with httpx.Client(base_url=f"{server.url}/api/v1", trust_env=False, timeout=60) as vera:
        session = vera.post("/session", json={"name": "vera", "password": "a long enough password"})
        asked = {"X-Mill-CSRF": session.json()["csrf"], "Origin": server.url}
        place = f"/projects/default/jobs/{serving.job}/ports/{serving.http}/open"
        assert vera.post(place, headers=asked).status_code == 403
    assert json.loads(admin.get("/audit").text)["items"][0]["action"] != "job.port"
