"""Database, lake or disk are away for a while: it is said, what does not need them works, and all heals by itself."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx
import pytest
from sqlalchemy.engine import make_url

from millpond.client.http import Api
from millpond.testing.cut_link import CutLink, cut_link
from millpond.testing.postgres import Postgres
from millpond.testing.seaweed import CREDENTIALS, Seaweed
from millpond.testing.server import RunningServer, running_server
from millpond.testing.waiting import wait_until
from millpond.wire.people import ProjectCreate
from tests.integration.several_servers import installation
from tests.integration.test_kill_one_of_several import agents, states, submit_all

AWAY_SECONDS = 60.0


@contextmanager
def linked(postgres: Postgres) -> Iterator[tuple[CutLink, str]]:
    """A database behind a link that can be cut."""
    with postgres.database() as url:
        parsed = make_url(url)
        folder = Path(str(parsed.query["host"]))
        with cut_link(folder / ".s.PGSQL.5432") as link:
            tcp = parsed.set(host="127.0.0.1", port=link.port, query={})
            yield link, tcp.render_as_string(hide_password=False)


def health(server_url: str) -> tuple[int, str, set[str]]:
    answer = httpx.get(f"{server_url}/readyz", trust_env=False, timeout=30)
    unwell = {part["name"] for part in answer.json()["parts"] if not part["ok"]}
    return answer.status_code, answer.json()["status"], unwell


@pytest.fixture
def server(postgres: Postgres, tmp_path: Path) -> Iterator[tuple[CutLink, RunningServer]]:
    with (
        linked(postgres) as (link, url),
        running_server(tmp_path, database_url=url, is_one_of_several=True) as server,
    ):
        yield link, server


def test_a_server_without_its_database_says_so_and_heals(server: tuple[CutLink, RunningServer]) -> None:
    link, running = server
    admin = running.admin
    with admin.stream("GET", "/events", params={"topics": "jobs"}) as response:
        lines = response.iter_lines()
        next(lines)
        link.cut()
        assert health(running.url) == (503, "unavailable", {"database"})
        assert admin.get(f"{running.url}/livez").status_code == 200
        answer = admin.get("/projects")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        running.deps.events.publish("jobs", project_id=None, data={"what": "during the outage"})
        link.mend()
        assert health(running.url) == (200, "ready", set())
        assert admin.get("/projects").status_code == 200
        assert any("during the outage" in line for line in lines), "the stream went on, and nothing was lost"


def test_clients_wait_for_the_database(server: tuple[CutLink, RunningServer]) -> None:
    link, running = server
    waits: list[float] = []

    def wait(seconds: float) -> None:
        """The second pause is when the database comes back."""
        waits.append(seconds)
        if len(waits) == 2:
            link.mend()

    with Api(running.url, running.token_of("admin"), sleep=wait) as api:
        api.request("GET", "/projects")
        link.cut()
        api.request("POST", "/projects", body=ProjectCreate(name="patient"))
    assert len(waits) >= 2
    assert running.admin.get("/projects/patient").status_code == 200


@pytest.mark.long
def test_jobs_survive_the_loss_of_database_and_lake(
    postgres: Postgres, seaweed: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    store_port = int(seaweed.endpoint.rpartition(":")[2])
    with linked(postgres) as (database, url), cut_link(store_port) as store:
        through = Seaweed(f"http://127.0.0.1:{store.port}", seaweed.bucket)
        with installation(url, through.url("outages"), tmp_path) as made, agents(made, 4) as counted:
            for link, part in ((database, "database"), (store, "lake")):
                names = [f"{part}-{number}" for number in range(8)]
                submit_all(made, names[:4], [])
                link.cut()
                for running in made.servers.values():
                    wait_until(
                        lambda url=running.url, part=part: health(url)[2] == {part}, what=f"the {part} to be missed"
                    )
                assert health(running.url)[0] == (503 if part == "database" else 200)
                link.mend()
                submit_all(made, names[4:], [])
                for running in made.servers.values():
                    wait_until(lambda url=running.url: health(url)[1] == "ready", what="the servers to heal")
            with made.api() as api:
                wait_until(lambda: states(api) == {"succeeded": 16}, within=120, what="all jobs to succeed")
            assert set(counted.begun.values()) == {1}


@pytest.mark.long
def test_a_full_disk_of_the_server(postgres: Postgres, tmp_path: Path) -> None:
    with postgres.database() as url:
        data_dir = tmp_path / "server-0"
        data_dir.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=600m", "tmpfs", str(data_dir)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("mounting a small file system needs root")
        try:
            _fill_and_free(url, tmp_path, data_dir)
        finally:
            subprocess.run(["umount", "-l", data_dir], check=False, capture_output=True)  # the server may have done it


def _fill_and_free(url: str, tmp_path: Path, data_dir: Path) -> None:
    with installation(url, (tmp_path / "lake").as_uri(), tmp_path, count=1) as made, agents(made, 2) as counted:
        submit_all(made, ["before"], [])
        ballast = data_dir / "ballast"
        with ballast.open("wb") as file, pytest.raises(OSError, match="No space"):
            while True:
                file.write(bytes(1 << 20))
                file.flush()
        server = made.servers[0]
        wait_until(lambda: health(server.url)[2] == {"disk"}, what="the full disk to be told")
        assert health(server.url)[:2] == (200, "degraded")
        submit_all(made, ["during"], [])
        ballast.unlink()
        wait_until(lambda: health(server.url)[1] == "ready", what="the server to heal")
        with made.api() as api:
            wait_until(lambda: states(api) == {"succeeded": 2}, within=120, what="all jobs to succeed")
        assert set(counted.begun.values()) == {1}


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_minute_without_database_and_one_without_lake_under_load(
    postgres: Postgres, seaweed: Seaweed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    store_port = int(seaweed.endpoint.rpartition(":")[2])
    names = [f"job-{number}" for number in range(160)]
    submitted: list[str] = []
    with linked(postgres) as (database, url), cut_link(store_port) as store:
        through = Seaweed(f"http://127.0.0.1:{store.port}", seaweed.bucket)
        with installation(url, through.url("minutes"), tmp_path) as made, agents(made, 20) as counted:
            with ThreadPoolExecutor(4) as pool:
                parts = [pool.submit(submit_all, made, names[begin::4], submitted) for begin in range(4)]
                for link, due in ((database, 40), (store, 80)):
                    wait_until(
                        lambda due=due: len(submitted) >= due or any(part.done() for part in parts),
                        within=300, what=f"{due} jobs to be submitted",
                    )  # fmt: skip
                    link.cut()
                    Event().wait(AWAY_SECONDS)
                    link.mend()
                for part in parts:
                    part.result(300)
            with made.api() as api:
                wait_until(lambda: states(api) == {"succeeded": len(names)}, within=300, what="all jobs to succeed")
            for running in made.servers.values():
                wait_until(lambda url=running.url: health(url)[1] == "ready", what="the servers to heal")
    assert sorted(submitted) == sorted(names)
    assert counted.begun == dict.fromkeys(names, 1), "each was begun once"
