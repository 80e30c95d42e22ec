"""The example plug-in, declared as pip would install it, keeps the contracts that Millpond ships."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest

from millpond.agent.drivers import Driver
from millpond.agent.drivers.choose import AgentMachine, open_driver
from millpond.blobs.location import open_store
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import BlobStore
from millpond.errors import BadRequest
from millpond.testing.blobs import BlobStoreContract
from millpond.testing.drivers import DriverContract, Place
from millpond.testing.plugins import declare, use_packages
from millpond.testing.server import SECRET, running_server
from millpond.wire.observed import NodeFacts

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.fixture(autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    directory = tmp_path_factory.mktemp("site-packages")
    declare(directory, project["name"], project["entry-points"], project["version"])
    use_packages(monkeypatch, directory, EXAMPLE / "src")


class TestSqliteStore(BlobStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path, installed: None) -> BlobStore:
        return open_store(f"sqlite://{tmp_path}/lake.db")

    def test_another_server_finds_what_was_put(self, store: BlobStore, tmp_path: Path) -> None:
        store.put("a/b", b"x")
        assert open_store(f"sqlite://{tmp_path}/lake.db").get("a/b") == b"x"

    def test_it_says_how_its_url_is_written(self) -> None:
        with pytest.raises(BadRequest, match="three slashes"):
            open_store("sqlite://lake.db")

    def test_the_server_serves_what_it_signs(self, tmp_path: Path) -> None:
        store = open_store(f"sqlite://{tmp_path}/lake.db", LocalSigner(SECRET))
        with running_server(tmp_path / "data", store=store) as server:
            put, get = store.sign_create("packs/one", 60), store.sign("GET", "packs/one", 60)
            client = server.client()
            assert client.put(server.url + put.url, content=b"0123").status_code == 201
            answer = client.get(server.url + get.url, headers={"Range": "bytes=1-2"})
        assert (answer.status_code, answer.content) == (206, b"12")


# Its tests wait more than they work; as a group they end together, beside those of the process driver.
@pytest.mark.xdist_group("example driver")
class TestNiceDriver(DriverContract):
    @pytest.fixture
    def driver(self, tmp_path: Path, installed: None) -> Driver:
        return open_driver("nice", AgentMachine(NodeFacts(name="here", cpus=1, memory_bytes=1), tmp_path), {})

    def test_jobs_have_low_priority_and_the_agent_keeps_its_own(self, driver: Driver, place: Place) -> None:
        before = os.nice(0)
        placement = place("nice")
        assert self.run(driver, placement).exit_code == 0
        assert int((placement / "log").read_text()) == min(before + 10, 19)
        assert os.nice(0) == before
