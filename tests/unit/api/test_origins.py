"""Where the second origin is, for a browser that reached the page in one way or another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from millpond.api.origins import content_origin, is_content_host, origin_of
from millpond.settings import Settings


def request(host: str, scheme: str = "http") -> dict[str, Any]:
    return {"type": "http", "scheme": scheme, "headers": [(b"host", host.encode())]}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        # Cookies do not know ports, so on one machine the other name of it is used.
        ("127.0.0.1:8420", "http://localhost:8421"),
        ("localhost:8420", "http://127.0.0.1:8421"),
        ("LocalHost:8420", "http://127.0.0.1:8421"),
        ("lab:8420", "http://lab:8421"),
        ("192.0.2.7:8420", "http://192.0.2.7:8421"),
        ("[2001:db8::1]:8420", "http://[2001:db8::1]:8421"),
        # A tunnel or a proxy: nobody has told where it leads to the second port.
        ("localhost:9000", None),
        ("mill.example.com", None),
        # What could break out of a header.
        ("lab:8420; script-src *", None),
        ("lab\r\nX: y:8420", None),
        ("", None),
    ],
)
def test_without_a_setting(host: str, expected: str | None) -> None:
    settings = Settings(data_dir=Path(), content_port=8421)
    assert content_origin(settings, request(host)) == expected


def test_without_a_second_port_there_is_none() -> None:
    assert content_origin(Settings(data_dir=Path()), request("lab:8420")) is None


def test_behind_a_proxy_it_is_what_an_administrator_said() -> None:
    settings = Settings(data_dir=Path(), content_port=8421, public_url="https://mill.example.com")
    assert content_origin(settings, request("mill.example.com")) is None
    assert content_origin(settings, request("lab:8420")) is None
    told = Settings(data_dir=Path(), content_port=8421, content_url="https://content.example.org/")
    assert content_origin(told, request("anything")) == "https://content.example.org"
    assert is_content_host(told, request("Content.example.org"))
    assert not is_content_host(told, request("mill.example.com"))
    assert not is_content_host(settings, request("mill.example.com"))


def test_a_public_address_that_is_the_port_itself() -> None:
    settings = Settings(data_dir=Path(), content_port=8421, public_url="http://lab:8420/")
    assert content_origin(settings, request("127.0.0.1:8420")) == "http://lab:8421"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Content.example.com:443/", "https://content.example.com"),
        ("http://[::1]:8421", "http://[::1]:8421"),
        ("http://lab:80", "http://lab"),
    ],
)
def test_origins_are_written_as_browsers_write_them(url: str, origin: str) -> None:
    assert origin_of(url) == origin
