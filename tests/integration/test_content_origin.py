"""Attacks on the border between the page and what users or jobs made: nothing of theirs runs in the page's origin."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from prometheus_client import CollectorRegistry
from starlette.types import Message

from millpond.api.metrics.requests import RequestMetrics
from millpond.api.requests import RequestEdge
from millpond.db import projects, users
from millpond.model.people import Role
from millpond.services.datasets import file_types
from millpond.services.datasets.previews import GRANT_SECONDS
from millpond.services.people.tickets import TICKET_SECONDS
from millpond.settings import Settings
from millpond.testing.builders_data import a_commit, the_project
from millpond.testing.clock import FakeClock
from millpond.testing.server import PASSWORD, RunningServer, add_user, running_server

COMMIT = "/projects/default/datasets/xray/commits/main"
EVIL = b"<script>document.title = document.cookie</script>"


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, clock: FakeClock) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("origin"), clock=clock) as running:
        names = ["report.html", "d/x.svg", "secret.csv", "x.xhtml", "ü \n.htm"]
        a_commit(running.deps, {**dict.fromkeys(names, EVIL), "secret.csv": b"label\n1\n"})
        yield running


@pytest.fixture
def viewer(server: RunningServer) -> httpx.Client:
    with server.deps.db.read() as tx:
        known = users.find(tx, "vera") is not None
    return server.client(server.token_of("vera")) if known else server.user("vera", roles={"default": Role.VIEWER})


def ticket(client: httpx.Client, path: str = "report.html", **headers: str) -> str:
    answer = client.post(f"{COMMIT}/preview", params={"path": path}, headers=headers)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["url"])


def visit(server: RunningServer, url: str, *, host: str | None = None, **headers: str) -> httpx.Response:
    """As a browser that may know names of this machine which this test's resolver does not."""
    parts = urlsplit(url)
    address = f"http://127.0.0.1:{server.deps.settings.content_port}{parts.path}"
    return server.client().get(address, headers={"Host": parts.netloc if host is None else host, **headers})


def open_document(server: RunningServer, url: str) -> tuple[str, httpx.Response]:
    led = visit(server, url)
    assert led.status_code == 303, led.text
    grant = urlsplit(url)._replace(path=led.headers["location"]).geturl()
    return grant, visit(server, grant)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("report.html", "text/html; charset=utf-8"),
        ("d/x.svg", "image/svg+xml; charset=utf-8"),
        ("x.xhtml", "application/xhtml+xml; charset=utf-8"),
        ("ü \n.htm", "text/html; charset=utf-8"),
    ],
)
def test_documents_are_shown_in_a_sandbox_of_their_own(
    server: RunningServer, viewer: httpx.Client, path: str, kind: str
) -> None:
    url = ticket(viewer, path, Origin=server.url)
    assert url.startswith(f"http://localhost:{server.deps.settings.content_port}/t/")
    _, document = open_document(server, url)
    assert (document.status_code, document.content) == (200, EVIL)
    assert document.headers["content-type"] == kind
    policy = document.headers["content-security-policy"]
    assert "allow-same-origin" not in policy and policy.startswith("sandbox allow-scripts;")
    assert "default-src 'none'" in policy and "form-action 'none'" in policy
    assert policy.endswith(f"frame-ancestors {server.url}")
    assert document.headers["x-content-type-options"] == "nosniff"
    assert document.headers["referrer-policy"] == "no-referrer"
    assert document.headers["cache-control"] == "no-store"


def test_a_ticket_opens_once(server: RunningServer, viewer: httpx.Client) -> None:
    url = ticket(viewer)
    grant, document = open_document(server, url)
    again = visit(server, url)
    assert (again.status_code, EVIL in again.content) == (403, False)
    assert document.status_code == visit(server, grant).status_code == 200
    # Nobody may frame what was asked for by a program.
    assert document.headers["content-security-policy"].endswith("frame-ancestors 'none'")


def test_tickets_and_grants_end(server: RunningServer, viewer: httpx.Client, clock: FakeClock) -> None:
    url = ticket(viewer)
    grant, _ = open_document(server, ticket(viewer))
    clock.advance(TICKET_SECONDS)
    assert visit(server, url).status_code == 403
    assert visit(server, grant).status_code == 200
    clock.advance(GRANT_SECONDS)
    assert visit(server, grant).status_code == 403


def test_another_host_name_opens_nothing(server: RunningServer, viewer: httpx.Client) -> None:
    """Somebody else's name that leads to this machine (DNS rebinding), or the page's own."""
    port = server.deps.settings.content_port
    grant, _ = open_document(server, ticket(viewer))
    for host in (
        f"evil.example:{port}",
        f"127.0.0.1:{port}",
        "localhost",
        "",
        f"localhost:{server.deps.settings.port}",
    ):
        assert visit(server, ticket(viewer), host=host).status_code == 403
        assert visit(server, grant, host=host).status_code == 403


def test_cookies_and_tokens_mean_nothing_there_and_are_not_set(server: RunningServer, viewer: httpx.Client) -> None:
    add_user(server.deps, "carla", roles={"default": Role.VIEWER}, password=PASSWORD)
    signed_in = server.client()
    answer = signed_in.post("/session", json={"name": "carla", "password": PASSWORD})
    cookie = answer.headers["set-cookie"]
    assert "Path=/api;" in cookie and "HttpOnly" in cookie and "Domain" not in cookie
    base = f"http://localhost:{server.deps.settings.content_port}"
    authorized = {"Cookie": cookie.partition(";")[0], "Authorization": viewer.headers["Authorization"]}
    for path in ("/", "/api/v1/session", f"/api/v1{COMMIT}/file?path=report.html", "/api/v1/openapi.json", "/metrics"):
        found = visit(server, base + path, **authorized)
        assert found.status_code == 404 and "set-cookie" not in found.headers
        assert "sandbox" in found.headers["content-security-policy"]
    assert visit(server, f"{base}/healthz").status_code == 204


def test_a_grant_opens_nothing_but_its_file(server: RunningServer, viewer: httpx.Client) -> None:
    grant, _ = open_document(server, ticket(viewer))
    for path in ("/secret.csv", "/../secret.csv", "/%2e%2e/secret.csv", "?path=secret.csv"):
        found = visit(server, grant + path)
        assert b"label" not in found.content
    sealed = urlsplit(grant).path.rpartition("/")[2]
    other = ticket(viewer, "d/x.svg").rpartition("/")[2]
    for wrong in (other, sealed[:-2], sealed.replace(".", ".A"), "x" * 20):
        assert visit(server, grant.replace(sealed, wrong)).status_code == 403
    # A grant is no ticket.
    assert visit(server, grant.replace("/c/", "/t/")).status_code == 403


def test_only_documents_get_tickets(server: RunningServer, viewer: httpx.Client) -> None:
    for path, status in (("secret.csv", 400), ("gone.html", 404), ("d", 400), ("../x.html", 400)):
        assert viewer.post(f"{COMMIT}/preview", params={"path": path}).status_code == status
    stranger = server.client(server.token_of(add_user(server.deps, "stan").name))
    assert stranger.post(f"{COMMIT}/preview", params={"path": "report.html"}).status_code == 404


def test_whoever_loses_the_role_loses_what_was_open(server: RunningServer) -> None:
    tom = server.user("tom", roles={"default": Role.VIEWER})
    grant, before = open_document(server, ticket(tom))
    with server.deps.db.write() as tx:
        user = users.find(tx, "tom")
        assert user is not None
        projects.remove_member(tx, the_project(server.deps).id, user.id)
    assert (before.status_code, visit(server, grant).status_code) == (200, 404)


def test_another_sites_page_gets_no_ticket(server: RunningServer, viewer: httpx.Client) -> None:
    content = f"http://localhost:{server.deps.settings.content_port}"
    for origin in ("null", "https://evil.example", content):
        answer = viewer.post(f"{COMMIT}/preview", params={"path": "report.html"}, headers={"Origin": origin})
        assert answer.status_code == 403


def test_the_page_frames_the_second_origin_and_nothing_else(server: RunningServer) -> None:
    content = f"http://localhost:{server.deps.settings.content_port}"
    policy = server.client().get(f"{server.url}/", headers={"Accept": "text/html"}).headers["content-security-policy"]
    assert f"frame-src {content};" in policy and "frame-ancestors 'none'" in policy
    odd = server.client().get(f"{server.url}/", headers={"Accept": "text/html", "Host": "a.example;script-src *"})
    assert "frame-src 'none'" in odd.headers["content-security-policy"]
    assert "script-src *" not in odd.headers["content-security-policy"]


def test_a_proxy_that_mixes_the_two_up_is_told() -> None:
    async def page(*_: object) -> None:
        raise AssertionError("the page answered at the second origin's host")

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    settings = Settings(data_dir=Path(), content_url="https://content.example.org")
    edge = RequestEdge(page, RequestMetrics(CollectorRegistry()), settings)
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"content.example.org")]}
    asyncio.run(edge(scope, receive, send))
    assert sent[0]["status"] == 421
    assert b"--content-port" in sent[1]["body"]


HOSTILE = [
    "x.html", "x.HTML", "x.htm", "x.xhtml", "x.svg", "x.SvG", "x.xml", "x.xsl", "x.mhtml", "x.mht", "x.hta", "x.pdf",
    "x.js", "x.mjs", "x.css", "x.swf", "x.wasm", "x.shtml", "x.html.gz", "x.svgz", "x", ".html", "x.", "x.html ",
    "x.rdf", "x.atom", "x.vtt", "x.appcache", "x.png.html", "x.html%00.png",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_makes_a_file_a_document_of_the_page(name: str) -> None:
    kind = file_types.shown_type(name)
    assert kind in (file_types.PLAIN, file_types.BINARY) or kind.startswith(("image/", "audio/", "video/"))
    assert not any(word in kind for word in ("svg", "xml", "html", "javascript"))


def test_whatever_a_file_is_called_its_answer_is_sandboxed(server: RunningServer) -> None:
    names = [name.replace("%00", "\x01") for name in HOSTILE] + ['a";filename="x.html', "a\r\nX-Evil: 1", "ü\u202e.png"]
    a_commit(server.deps, dict.fromkeys(names, EVIL), dataset="hostile")
    base = COMMIT.replace("xray", "hostile")
    for name in names:
        answer = server.admin.get(f"{base}/file", params={"path": name})
        assert answer.status_code == 200, name
        assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "x-evil" not in answer.headers
        kind, _, told = answer.headers["content-disposition"].partition("; ")
        assert kind == ("attachment" if answer.headers["content-type"] == file_types.BINARY else "inline")
        assert told.startswith("filename*=UTF-8''") and not set(told[17:]) & set('"; \r\n')
