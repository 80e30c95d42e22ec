"""Which port and which address the second origin gets when the server starts."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from millpond.api.listener import bind
from millpond.app import _listening, _listening_for_content
from millpond.cli.up import checked_content_url
from millpond.errors import SetupError
from millpond.settings import Settings
from millpond.testing.up import mill_up

HOST = "127.0.0.1"


def two_free_ports() -> int:
    """The first of three neighbours that nobody uses at the moment."""
    while True:
        with closing(bind(HOST, 0)) as found, ExitStack() as stack:
            port: int = found.getsockname()[1]
            try:
                for behind in (port + 1, port + 2):
                    stack.enter_context(closing(bind(HOST, behind)))
            except (OSError, OverflowError):
                continue
            return port


def port_of(listening: socket.socket) -> int:
    found: int = listening.getsockname()[1]
    return found


def test_it_is_the_port_behind_the_pages_or_the_next_free_one() -> None:
    port = two_free_ports()
    settings = Settings(data_dir=Path(), port=port)
    with _listening_for_content(settings, port) as first:
        assert port_of(first) == port + 1
        with _listening_for_content(settings, port) as second:
            assert port_of(second) > port + 1
        # A second server on the same machine: neither of its ports is one of the first's.
        with _listening(HOST, port, is_fixed=False) as page, _listening_for_content(settings, port_of(page)) as content:
            assert len({port_of(first), port_of(page), port_of(content)}) == 3


def test_a_port_that_was_asked_for_is_that_one_or_none() -> None:
    with closing(bind(HOST, 0)) as taken:
        settings = Settings(data_dir=Path(), port=0, content_port=port_of(taken))
        with pytest.raises(SetupError, match="Cannot listen") as refused, _listening_for_content(settings, 8420):
            pass
        assert "--content-port" in (refused.value.hint or "")
    with _listening_for_content(Settings(data_dir=Path(), port=65_535), 65_535) as anywhere:
        assert port_of(anywhere) < 65_535


@pytest.mark.parametrize("url", ["content.example.com", "ftp://x", "https://", "https://x/path", "https://x?a=1"])
def test_an_address_that_is_no_origin_is_refused(url: str) -> None:
    with pytest.raises(SetupError, match="not an origin"):
        checked_content_url(url, None)


def test_the_pages_own_address_is_refused() -> None:
    with pytest.raises(SetupError, match="different origins"):
        checked_content_url("https://Mill.example.com:443/", "https://mill.example.com/prefix")
    assert checked_content_url("https://content.example.com", "https://mill.example.com") is not None
    assert checked_content_url(None, "https://mill.example.com") is None


@pytest.mark.long
def test_a_server_answers_both(tmp_path: Path) -> None:
    port = two_free_ports()
    with mill_up(tmp_path / "data", "--port", str(port), "--content-port", str(port + 2), "--no-agent"):
        content = httpx.get(f"http://{HOST}:{port + 2}/healthz", trust_env=False)
        assert (content.status_code, httpx.get(f"http://{HOST}:{port}/healthz", trust_env=False).status_code) == (
            204,
            200,
        )
        assert httpx.get(f"http://{HOST}:{port + 2}/api/v1/openapi.json", trust_env=False).status_code == 404
