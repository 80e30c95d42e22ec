"""Which proxy the environment names for a URL."""

from __future__ import annotations

import pytest

from millpond.blobs.clouds import _client_options
from millpond.cli.doctor import proxy_check
from millpond.errors import SetupError
from millpond.proxy import proxy_for

PROXIES = {"http_proxy": "proxy:3128", "HTTPS_PROXY": "http://secure:1", "no_proxy": ".internal, example.org,a.com:81"}
FAR = "https://s3.example.com/x"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8420/lake/x", None),
        ("http://localhost/x", None),
        ("http://[::1]:1/x", None),
        ("http://192.168.1.7:9000/x", None),
        ("http://store.internal/x", None),
        ("https://example.org/x", None),
        ("https://www.example.org:8443/x", None),
        ("http://a.com:81/x", None),
        ("http://a.com:82/x", "http://proxy:3128"),
        ("http://s3.example.com/x", "http://proxy:3128"),
        (FAR, "http://secure:1"),
    ],
)
def test_by_url(url: str, expected: str | None) -> None:
    assert proxy_for(url, PROXIES) == expected


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        ({"ALL_PROXY": "http://all:1"}, "http://all:1"),
        ({"all_proxy": "all:1"}, "http://all:1"),
        ({"all_proxy": "http://lower:1", "ALL_PROXY": "http://upper:1"}, "http://lower:1"),
        ({"all_proxy": "", "ALL_PROXY": "http://upper:1"}, None),
        ({"HTTPS_PROXY": "http://https:1", "all_proxy": "http://all:1"}, "http://https:1"),
        ({"http_proxy": "http://http:1"}, None),
        ({"ALL_PROXY": "http://all:1", "NO_PROXY": "example.com"}, None),
        ({"ALL_PROXY": "http://all:1", "no_proxy": "*"}, None),
        ({"ALL_PROXY": "http://all:1", "no_proxy": "", "NO_PROXY": "*"}, "http://all:1"),
        ({"ALL_PROXY": "socks5://all:1", "NO_PROXY": "example.com"}, None),
    ],
)
def test_by_environment(environ: dict[str, str], expected: str | None) -> None:
    assert proxy_for(FAR, environ) == expected


def test_another_kind_is_refused_without_its_password() -> None:
    with pytest.raises(SetupError) as caught:
        proxy_for(FAR, {"ALL_PROXY": "socks5://maria:secret@proxy:1080"})
    assert caught.value.message == "The proxy socks5://proxy cannot be used."


def test_a_local_store_is_reached_without_the_proxy_for_everything() -> None:
    options = _client_options("http://127.0.0.1:9000", {"ALL_PROXY": "http://all:1"})
    assert options["proxy_excludes"] == "127.0.0.1"
    assert "proxy_excludes" not in _client_options(FAR, {"ALL_PROXY": "http://all:1"})


@pytest.mark.parametrize(
    ("server", "no_proxy", "expected"),
    [
        ("https://mill.example.com", "", "http: http://all:1, https: http://all:1; used for mill.example.com"),
        ("https://mill.example.com", "*", "http: http://all:1, https: http://all:1; not used for mill.example.com"),
        ("http://10.0.0.1", "", "http: http://all:1, https: http://all:1; not used for 10.0.0.1, which is local"),
    ],
)
def test_doctor_says_whether_it_is_used(server: str, no_proxy: str, expected: str) -> None:
    assert proxy_check(server, {"ALL_PROXY": "http://all:1", "NO_PROXY": no_proxy}).message == expected
    assert proxy_check(server, {}).message == "none set"
