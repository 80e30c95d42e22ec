"""Several `mill up --no-agent` on one database and lake behind HAProxy, to be killed and started again."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from millpond.client.http import Api
from millpond.testing.daemons import free_port
from millpond.testing.haproxy import find_haproxy, running_haproxy
from millpond.testing.up import MillUp, mill_up
from millpond.testing.waiting import wait_until

SHIPPED = Path(__file__).resolve().parents[2] / "deploy" / "proxies" / "haproxy-servers.cfg"


@dataclass
class Installation:
    """`url` is the balancer's; `servers` are those that run, by place."""

    database_url: str
    options: Sequence[str]
    directory: Path
    ports: Sequence[tuple[int, int]]
    url: str = ""
    servers: dict[int, MillUp] = field(default_factory=dict)
    _running: dict[int, AbstractContextManager[MillUp]] = field(default_factory=dict)

    @property
    def places(self) -> range:
        return range(len(self.ports))

    def start(self, place: int, options: Sequence[str] = ("--trusted-proxies", "127.0.0.1")) -> MillUp:
        port, content = self.ports[place]
        starting = mill_up(
            self.directory / f"server-{place}", *self.options, *options, "--port", str(port),
            "--content-port", str(content),
            home=self.directory / "home",
        )  # fmt: skip
        self.servers[place] = starting.__enter__()
        self._running[place] = starting
        with httpx.Client(trust_env=False, timeout=30) as client:
            wait_until(lambda: client.get(f"{self.url}/readyz").is_success, what="the balancer to see it")
        return self.servers[place]

    def kill(self, place: int) -> None:
        self.servers.pop(place).kill()
        self._running.pop(place).__exit__(None, None, None)

    def stop_all(self) -> None:
        for place in list(self._running):
            self.servers.pop(place, None)
            self._running.pop(place).__exit__(None, None, None)

    def api(self, **options: object) -> Api:
        """Through the balancer, as the administrator."""
        return Api(self.url, self._token, **options)  # type: ignore[arg-type]

    def api_of(self, place: int) -> Api:
        """Of one server, past the balancer."""
        return Api(self.servers[place].url, self._token)

    @property
    def _token(self) -> str:
        saved = json.loads((self.directory / "home" / "credentials.json").read_text())["servers"]
        token: str = next(one["token"] for one in saved.values())
        return token


@contextmanager
def installation(
    database_url: str, lake_url: str, directory: Path, *, count: int = 2, started: bool = True
) -> Iterator[Installation]:
    program = find_haproxy()
    if program is None:
        pytest.skip("HAProxy is not installed (dev/apt.txt)")
    key = directory / "secret.key"
    key.touch(0o600)
    key.write_bytes(b64encode(bytes(32)))
    ports = [(free_port(), free_port()) for _ in range(count)]
    options = ("--db", database_url, "--lake", lake_url, "--secret-key-file", str(key), "--no-agent")
    made = Installation(database_url, options, directory, ports)
    with ExitStack() as stack:
        made.url = stack.enter_context(running_haproxy(program, SHIPPED, directory, ports))
        stack.callback(made.stop_all)
        for place in range(count if started else 0):
            made.start(place)
        yield made
