"""The page: built or not, its caching, and what it must never answer for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from millpond.api import static
from millpond.testing.server import RunningServer, running_server

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    page = tmp_path / "static"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text("<title>the page</title>")
    (page / "assets" / "index-a1b2.js").write_text("let a")
    (page / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret").write_text("secret")
    monkeypatch.setattr(static, "STATIC", page)
    with running_server(tmp_path / "data") as running:
        yield running


def get(server: RunningServer, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return server.client().get(f"{server.url}{path}", headers=headers)


def test_files_and_caching(built: RunningServer) -> None:
    asset = get(built, "/assets/index-a1b2.js")
    assert asset.text == "let a" and "immutable" in asset.headers["Cache-Control"]
    index = get(built, "/", HTML)
    assert "the page" in index.text and index.headers["Cache-Control"] == "no-cache"
    assert get(built, "/favicon.svg").headers["Cache-Control"] == "no-cache"
    assert get(built, "/index.html", HTML).headers["Cache-Control"] == "no-cache"


def test_pages_of_the_page(built: RunningServer) -> None:
    assert "the page" in get(built, "/datasets/default/xray", HTML).text
    assert get(built, "/datasets/default/xray", {"Accept": "image/png"}).status_code == 404


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/api/nothing", "/lake/nothing", "/assets/gone.js"])
def test_not_the_page(built: RunningServer, path: str) -> None:
    headers = {} if path.startswith("/assets") else HTML
    response = get(built, path, headers)
    assert response.status_code >= 400
    assert "the page" not in response.text


@pytest.mark.parametrize("path", ["/../secret", "/%2e%2e/secret", "/assets/..%2f..%2fsecret", "//etc/passwd"])
def test_no_way_out_of_the_directory(built: RunningServer, path: str) -> None:
    response = httpx.get(httpx.URL(built.url, raw_path=path.encode()), trust_env=False)
    assert response.status_code == 404


def test_security_headers(built: RunningServer) -> None:
    headers = get(built, "/", HTML).headers
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_page_that_was_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static, "STATIC", tmp_path / "nothing")
    with running_server(tmp_path / "data") as server:
        response = get(server, "/", HTML)
        assert response.status_code == 200
        assert "make web" in response.text and "Node 20" in response.text
        assert server.client().head(server.url).status_code == 200
