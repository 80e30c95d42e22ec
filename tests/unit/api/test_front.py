"""Who is asking through proxies, and what each answer tells browsers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from millpond.api.front import FrontDoor, TrustedProxies
from millpond.settings import KeyPair, Settings, is_open_without_tls
from millpond.testing.server import RunningServer, add_user, running_server
from millpond.testing.website import make_certificate

TRUSTED = TrustedProxies.parse("10.0.0.0/24, ::1 ,127.0.0.1")


def seen(peer: str, headers: Mapping[str, str], *, kind: str = "http") -> Scope:
    """What the application sees of a request."""
    taken: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        taken.append(scope)

    raw = [(name.lower().encode(), value.encode()) for name, value in {"Host": "mill.test", **headers}.items()]
    scope: dict[str, Any] = {"type": kind, "scheme": "ws" if kind == "websocket" else "http", "client": (peer, 4711)}
    asyncio.run(FrontDoor(app, TRUSTED)({**scope, "headers": raw}, None, None))  # type: ignore[arg-type]
    return taken[0]


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        # From a proxy that was named: the address that it saw.
        ("10.0.0.7", "192.0.2.1", "192.0.2.1"),
        ("::1", "192.0.2.1:5000", "192.0.2.1"),
        ("::ffff:10.0.0.7", "[2001:db8::1]:5000", "2001:db8::1"),
        # What a client wrote itself stands before it, and is not believed.
        ("10.0.0.7", "127.0.0.1, 192.0.2.1", "192.0.2.1"),
        ("10.0.0.7", "1.1.1.1, 192.0.2.1, 10.0.0.9", "192.0.2.1"),
        # All are proxies of ours; or one does not say.
        ("10.0.0.7", "10.0.0.8, 10.0.0.9", "10.0.0.8"),
        ("10.0.0.7", "unknown", "10.0.0.7"),
        ("10.0.0.7", "", "10.0.0.7"),
        # From anybody else: nothing.
        ("192.0.2.9", "192.0.2.1", "192.0.2.9"),
        ("::ffff:192.0.2.9", "10.0.0.1", "192.0.2.9"),
    ],
)
def test_the_address_of_a_client(peer: str, forwarded: str, client: str) -> None:
    assert seen(peer, {"X-Forwarded-For": forwarded})["client"][0] == client


@pytest.mark.parametrize(("kind", "plain", "secure"), [("http", "http", "https"), ("websocket", "ws", "wss")])
def test_scheme_and_host_are_believed_of_named_proxies_alone(kind: str, plain: str, secure: str) -> None:
    told = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "lab.test:8443", "X-Real-IP": "1.1.1.1", "Forwarded": "a"}
    for peer, scheme, host in (("10.0.0.7", secure, b"lab.test:8443"), ("192.0.2.9", plain, b"mill.test")):
        scope = seen(peer, told, kind=kind)
        assert scope["scheme"] == scheme
        assert scope["headers"] == [(b"host", host)], "nobody behind sees what was told"
    odd = seen("10.0.0.7", {"X-Forwarded-Proto": "gopher", "X-Forwarded-Host": 'a b"<'}, kind=kind)
    assert (odd["scheme"], odd["headers"]) == (plain, [(b"host", b"mill.test")])


@pytest.mark.parametrize("text", ["proxy.lab", "10.0.0.1/40", "1.2.3"])
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither an address nor a network"):
        TrustedProxies.parse(f"127.0.0.1,{text}")


def wrong(server: RunningServer, name: str, address: str) -> int:
    body = {"name": name, "password": "wrong password"}
    return server.client().post("/session", json=body, headers={"X-Forwarded-For": address}).status_code


def test_wrong_passwords_count_for_the_address_behind_the_proxy(tmp_path: Path) -> None:
    with running_server(tmp_path, trusted_proxies="127.0.0.1") as server:
        add_user(server.deps, "maria", password="correct horse battery")
        for number in range(50):
            assert wrong(server, f"u{number}", f"6.6.6.{number}, 192.0.2.1") == 401
        assert wrong(server, "other", "192.0.2.1") == 429, "whatever it writes before its address"
        assert wrong(server, "other", "192.0.2.2") == 401, "nobody else is locked out"


def test_of_a_proxy_that_is_not_named_nothing_is_believed(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        for number in range(50):
            assert wrong(server, f"u{number}", f"192.0.2.{number}") == 401
        assert wrong(server, "other", "192.0.2.200") == 429


HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
}


def test_every_answer_has_the_headers_that_protect_browsers(tmp_path: Path) -> None:
    pair = KeyPair(*make_certificate(tmp_path / "tls", hosts=["localhost"]))
    with (
        running_server(tmp_path / "data", tls=[pair], public_url="https://mill.test") as server,
        httpx.Client(base_url=server.url, verify=False, trust_env=False) as client,
    ):
        points = {"content-type": "application/x-mill-points"}
        for method, path, kept in (
            ("GET", "/", {}),
            ("GET", "/api/v1/session", {}),
            ("GET", "/nowhere/at/all", {}),
            ("GET", "/metrics", {}),
            ("PUT", "/lake/x", {}),
            ("POST", "/api/v1/projects/p/runs/r/batch", points),
            ("POST", "/mlflow/p/api/2.0/mlflow/runs/log-metric", {}),
        ):
            answer = client.request(method, path, headers=kept)
            found = {name: answer.headers.get(name) for name in HEADERS}
            assert found == HEADERS, (method, path)
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"], path
            assert "camera=()" in answer.headers["permissions-policy"]
            assert answer.headers["strict-transport-security"] == "max-age=31536000"
        content = server.url.replace(str(server.deps.settings.port), str(server.deps.settings.content_port))
        answer = client.get(f"{content}/c/nothing")
        assert answer.headers["strict-transport-security"] and answer.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in answer.headers["content-security-policy"]


def test_plain_http_promises_nothing(tmp_path: Path) -> None:
    with running_server(tmp_path, trusted_proxies="127.0.0.1") as server:
        told = {"X-Forwarded-Proto": "https"}
        assert "strict-transport-security" not in server.client().get("/session", headers=told).headers


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, False),
        ({"host": "::1"}, False),
        ({"host": "0.0.0.0"}, True),
        ({"host": "0.0.0.0", "public_url": "http://mill.test"}, True),
        ({"host": "0.0.0.0", "public_url": "https://mill.test"}, False),
        ({"host": "mill.test", "tls": [KeyPair(Path("a"), Path("b"))]}, False),
    ],
)
def test_when_a_server_is_open_without_tls(tmp_path: Path, settings: dict[str, Any], expected: bool) -> None:
    assert is_open_without_tls(Settings(tmp_path, **settings)) is expected
