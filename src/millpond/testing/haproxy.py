"""A real HAProxy for tests, with the configuration that we ship and other addresses in it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from millpond.testing.daemons import find_program, free_port
from millpond.testing.waiting import wait_until

# Seconds between two looks at a server, instead of those of the file.
_LOOK = "200ms"


def find_haproxy() -> Path | None:
    return find_program("haproxy") or next((path for path in [Path("/usr/sbin/haproxy")] if path.exists()), None)


@contextmanager
def running_haproxy(program: Path, shipped: Path, directory: Path, servers: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The URL of a balancer over servers of this machine, by their ports for the page and for content."""
    port = free_port()
    file = directory / "haproxy.cfg"
    file.write_text(_configuration(shipped.read_text(), port, servers))
    with (directory / "haproxy.log").open("wb") as log:
        process = subprocess.Popen([program, "-db", "-f", file], stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(trust_env=False) as client:
            wait_until(lambda: process.poll() is not None or _answers(client, url), what="HAProxy")
        assert process.poll() is None, (directory / "haproxy.log").read_text()
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _configuration(text: str, port: int, servers: Sequence[tuple[int, int]]) -> str:
    """The shipped file with the server lines of each backend replaced."""
    text = re.sub(r"bind :8080", f"bind 127.0.0.1:{port}", text)
    text = re.sub(r"maxconn \d+", "maxconn 2000", text)
    text = re.sub(r"inter 2s", f"inter {_LOOK}", text)

    def own(line: re.Match[str]) -> str:
        place = 1 if line[2] == "8421" else 0
        return "".join(f"    server mill-{n} 127.0.0.1:{ports[place]}\n" for n, ports in enumerate(servers, 1))

    text = re.sub(r"    server mill-1 (\S+):(\d+)\n", own, text)
    return re.sub(r"    server mill-\d 10\.\S+\n", "", text)


def _answers(client: httpx.Client, url: str) -> bool:
    try:
        client.get(url)
    except httpx.TransportError:
        return False
    return True


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port
