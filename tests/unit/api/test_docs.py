"""The documentation at /docs: built or not, types, caching, its own policy, and what it must never answer."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from millpond.api import docs
from millpond.testing.server import RunningServer, running_server

INDEX = "<title>home</title>" * 20


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    root = tmp_path_factory.mktemp("docs")
    site = root / "site"
    (site / "jobs").mkdir(parents=True)
    (site / "assets").mkdir()
    (site / "index.html.gz").write_bytes(gzip.compress(INDEX.encode()))
    (site / "jobs" / "index.html").write_text("jobs")
    (site / "assets" / "site.js").write_text("let a")
    (site / "assets" / "mark.svg").write_text("<svg/>")
    (site / ".stamp").write_text("stamp")
    (root / "secret").write_text("secret")
    with pytest.MonkeyPatch.context() as patch, running_server(root / "data") as running:
        patch.setattr(docs, "DOCUMENTATION", site)
        yield running


# Signed out: everybody may read it.
CLIENT = httpx.Client(trust_env=False, verify=False)


def get(server: RunningServer, path: str, **headers: str) -> httpx.Response:
    return CLIENT.get(f"{server.url}{path}", headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_pages_and_files_with_their_types(built: RunningServer) -> None:
    assert get(built, "/docs/").text == INDEX
    assert get(built, "/docs/jobs/").text == "jobs"
    types = {
        path: get(built, f"/docs/{path}").headers["content-type"] for path in ("", "assets/site.js", "assets/mark.svg")
    }
    assert types == {
        "": "text/html; charset=utf-8",
        "assets/site.js": "text/javascript; charset=utf-8",
        "assets/mark.svg": "image/svg+xml",
    }


@pytest.mark.parametrize(("path", "led_to"), [("/docs", "docs/"), ("/docs/jobs", "jobs/")])
def test_addresses_without_the_last_slash_lead_on_below_any_prefix(
    built: RunningServer, path: str, led_to: str
) -> None:
    answer = get(built, path)
    assert (answer.status_code, answer.headers["location"]) == (307, led_to)


def test_compressed_files_are_unpacked_for_those_who_cannot(built: RunningServer) -> None:
    packed, plain = (get(built, "/docs/", Accept_Encoding=way) for way in ("gzip", "identity"))
    assert packed.text == plain.text == INDEX
    assert packed.headers["content-encoding"] == "gzip" and "content-encoding" not in plain.headers
    assert packed.headers["etag"] != plain.headers["etag"]
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"


def test_what_a_browser_has_is_not_sent_again(built: RunningServer) -> None:
    first = get(built, "/docs/jobs/")
    assert first.headers["cache-control"] == "no-cache"
    again = get(built, "/docs/jobs/", If_None_Match=f'"other", W/{first.headers["etag"]}')
    assert (again.status_code, again.content) == (304, b"")
    assert get(built, "/docs/jobs/", If_None_Match='"other"').status_code == 200


def test_nothing_inline_and_nothing_from_elsewhere_may_run(built: RunningServer) -> None:
    for path in ("/docs/", "/docs/nothing/", "/docs/jobs"):
        policy = get(built, path).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy, path


@pytest.mark.parametrize("path", ["nothing", "nothing/", "jobs/nothing/", "a" * 300, "a/" * 900, "%00", "<script>"])
def test_a_page_that_is_missing_says_where_the_others_are(built: RunningServer, path: str) -> None:
    answer = get(built, f"/docs/{path}")
    assert answer.status_code == 404 and "<script>" not in answer.text
    home = httpx.URL(f"{built.url}/docs/{path}").join(answer.text.split('href="')[1].split('"')[0])
    assert home.path == "/docs/"


@pytest.mark.parametrize("path", ["/docs/.stamp", "/docs/index.html.gz", "/docs/../secret", "/docs/%2e%2e%2fsecret"])
def test_only_the_site_is_answered(built: RunningServer, path: str) -> None:
    answer = CLIENT.get(httpx.URL(built.url, raw_path=path.encode()))
    assert answer.status_code == 404


def test_a_site_that_was_not_built_says_how_to_get_it(built: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "DOCUMENTATION", Path("/nothing/here"))
    answer = get(built, "/docs/")
    assert answer.status_code == 200 and "make docs-site" in answer.text
    assert get(built, "/docs/jobs/").status_code == 404
    assert CLIENT.head(f"{built.url}/docs/").status_code == 200
