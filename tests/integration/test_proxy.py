"""A proxy for everything: the API and the packs go through it, or neither does."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from millpond.client.clone import clone
from millpond.client.datasets import create_dataset
from millpond.client.http import Api
from millpond.client.sync import sync
from millpond.client.working_copy import WorkingCopy, require_working_copy
from millpond.testing.proxies import Front, connect_proxy, tls_front
from millpond.testing.server import ADMIN, running_server

HOST = "files.test"


@dataclass
class Far:
    """A server behind a name that only the proxy can look up."""

    url: str
    token: str
    proxy: Front
    root: Path

    def round_trip(self) -> None:
        """Send a folder and fetch it again, packs and all."""
        folder = self.root / "folder"
        folder.mkdir()
        for number in range(20):
            (folder / f"{number}.bin").write_bytes(os.urandom(20_000))
        with Api(self.url, self.token) as api:
            dataset = create_dataset(api, "default", "folder")
            WorkingCopy(folder, self.url, "default", "folder", dataset.id).save()
            sync(api, require_working_copy(folder))
            clone(api, "default", "folder", "main", self.root / "copy")
        for number in range(20):
            name = f"{number}.bin"
            assert (self.root / "copy" / name).read_bytes() == (folder / name).read_bytes()


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Far]:
    for kind in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{kind}_proxy", raising=False)
        monkeypatch.delenv(f"{kind.upper()}_PROXY", raising=False)
    with running_server(tmp_path / "server") as server:
        port = int(server.url.rpartition(":")[2])
        with tls_front(port, tmp_path) as front, connect_proxy({f"{HOST}:{front.port}": front.port}) as proxy:
            monkeypatch.setenv("MILL_CA_FILE", str(front.certificate))
            yield Far(f"https://{HOST}:{front.port}", server.token_of(ADMIN), proxy, tmp_path)


@pytest.mark.parametrize("name", ["ALL_PROXY", "https_proxy"])
def test_everything_goes_through_it(name: str, far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, f"http://127.0.0.1:{far.proxy.port}")
    # Nobody else knows the host: whatever went around the proxy would fail.
    far.round_trip()
    assert set(far.proxy.asked) == {far.url.removeprefix("https://")}


def test_nothing_goes_through_it_for_hosts_of_no_proxy(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = socket.getaddrinfo

    def known(host: Any, *args: Any, **kwargs: Any) -> Any:
        return look_up("127.0.0.1" if host == HOST else host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", known)
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{far.proxy.port}")
    monkeypatch.setenv("NO_PROXY", "test")
    far.round_trip()
    assert far.proxy.asked == []
