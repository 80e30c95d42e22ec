"""The page: built or not, its caching, and what it must never answer for."""

from __future__ import annotations

import gzip
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
    (page / "assets" / "large-c3d4.js").write_text("let b = 1;" * 100)
    (page / "assets" / "large-c3d4.js.gz").write_bytes(gzip.compress(b"let b = 1;" * 100))
    (page / ".stamp").write_text("stamp")
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


def test_browsers_get_the_compressed_copy(built: RunningServer) -> None:
    path = "/assets/large-c3d4.js"
    small = get(built, path, {"Accept-Encoding": "gzip, deflate, br"})
    assert small.headers["content-encoding"] == "gzip" and int(small.headers["content-length"]) < 100
    assert small.text == "let b = 1;" * 100
    assert "javascript" in small.headers["content-type"] and "immutable" in small.headers["cache-control"]
    plain = get(built, path, {"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers and plain.text == small.text
    # What lies between must not mix the two up, and they are not the same bytes.
    assert small.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
    assert small.headers["etag"] != plain.headers["etag"]
    part = get(built, path, {"Accept-Encoding": "gzip", "Range": "bytes=0-2"})
    assert (part.status_code, part.text) == (206, "let")
    assert "content-encoding" not in get(built, "/assets/index-a1b2.js").headers


@pytest.mark.parametrize("path", ["/assets/large-c3d4.js.gz", "/.stamp"])
def test_what_only_the_builder_needs_is_not_served(built: RunningServer, path: str) -> None:
    assert get(built, path).status_code == 404


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", True), ("br, gzip;q=0.5", True), ("*", True), ("GZIP ; q=1", True), ("gzip;q=0", False),
        ("gzip;q=0.0, *", False), ("br", False), ("", False), ("*;q=0", False), ("xgzip", False), ("gzip;q=.", False),
    ],
)  # fmt: skip
def test_who_can_read_compressed_copies(header: str, accepted: bool) -> None:
    assert static.accepts_gzip(header) is accepted


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


@pytest.mark.parametrize("path", ["/" + "a" * 300, "/" + "a/" * 3000, "/%00", "/assets/%00.js"])
def test_names_that_no_file_can_have_are_not_found(built: RunningServer, path: str) -> None:
    assert get(built, path).status_code == 404
    assert get(built, path, HTML).status_code in (200, 404), "the page says so itself"


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
