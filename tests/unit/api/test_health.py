"""Health, readiness, metrics and the doctor."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.blobs.store import BlobInfo
from millpond.db import caches
from millpond.db.engine import Database
from millpond.errors import StoreUnavailable
from millpond.model.people import Role
from millpond.services.health import Health, PartHealth
from millpond.settings import Settings
from millpond.testing.builders_work import add_agent, add_commit, add_job, add_volume
from millpond.testing.clock import FakeClock
from millpond.testing.server import SECRET, RunningServer, making_deps, running_server
from millpond.testing.waiting import wait_until


class AwayStore(MemoryStore):
    """A lake that does not answer."""

    def head(self, key: str) -> BlobInfo | None:
        raise StoreUnavailable("The lake is away.")

    def put(self, key: str, data: object, *, if_absent: bool = False) -> None:
        raise StoreUnavailable("The lake is away.")


def ready(server: RunningServer) -> tuple[int, str, dict[str, str]]:
    """The status, and the parts that are not well with what is said of them."""
    answer = server.client().get(f"{server.url}/readyz")
    assert server.client().get("/health").json()["status"] == answer.json()["status"]
    found = {part["name"]: part["message"] for part in answer.json()["parts"] if not part["ok"]}
    return answer.status_code, answer.json()["status"], found


def test_healthy_and_ready(server: RunningServer) -> None:
    for path in ("healthz", "livez", "readyz"):
        assert server.client().get(f"{server.url}/{path}").status_code == 200
    assert ready(server) == (200, "ready", {})


def test_degraded_while_the_lake_is_away(tmp_path: Path) -> None:
    with running_server(tmp_path, store=AwayStore()) as server:
        assert server.client().get(f"{server.url}/livez").status_code == 200
        assert ready(server) == (200, "degraded", {"lake": "The lake does not answer."})
        checks = {check["name"]: check for check in server.admin.get("/doctor").json()["checks"]}
        assert not checks["lake"]["ok"] and "The lake is away." in checks["lake"]["message"]


def test_unavailable_without_the_database(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    away = OperationalError("SELECT 1", {}, Exception('could not translate host name "db.secret.example" to address'))

    def read(_: object) -> Database:
        raise away

    with monkeypatch.context() as patch:
        patch.setattr(Database, "read", read)
        assert server.client().get(f"{server.url}/livez").status_code == 200
        said = "The database cannot be reached: its name is not found (DNS)."
        assert ready(server) == (503, "unavailable", {"database": said})
        answer = server.client("mill_" + "x" * 43).get("/session")
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert ready(server) == (200, "ready", {})


def test_a_full_disk_is_told(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**9, 999_999_999, 1))
        assert ready(server) == (200, "degraded", {"disk": "The server's disk is nearly full: 1 B left."})
    data_dir = server.deps.settings.data_dir
    data_dir.rename(data_dir.with_name("moved"))
    try:
        assert ready(server)[2]["disk"] == "The server's disk is full or cannot be written."
    finally:
        data_dir.with_name("moved").rename(data_dir)
    assert ready(server) == (200, "ready", {})


def test_a_clock_that_jumps_is_told_for_a_while(tmp_path: Path) -> None:
    clock = FakeClock()
    with running_server(tmp_path, clock=clock) as server:
        assert ready(server) == (200, "ready", {})
        clock.set_ahead(-3600)
        jumped = {"clock": "The server's clock jumped backwards by 1 h."}
        assert ready(server) == (200, "degraded", jumped)
        clock.advance(200)
        assert ready(server) == (200, "degraded", jumped)
        clock.advance(200)
        assert ready(server) == (200, "ready", {})


def test_a_probe_that_hangs_counts_as_failed_and_nobody_waits_for_it(tmp_path: Path) -> None:
    goes_on, clock = threading.Event(), FakeClock()

    class Hanging(MemoryStore):
        def head(self, key: str) -> BlobInfo | None:
            goes_on.wait(60)
            return super().head(key)

    with making_deps(Settings(data_dir=tmp_path), clock=clock, store=Hanging(LocalSigner(SECRET))) as deps:
        health = Health(deps, look_seconds=0.01)
        health.watch()

        def lake() -> PartHealth:
            return next(part for part in health.parts() if part.name == "lake")

        try:
            assert lake().ok, "it may still answer"
            wait_until(lambda: not (clock.advance(1), lake())[1].ok, what="the probe to be given up")
            assert lake().message == "The lake does not answer in time."
            goes_on.set()
            wait_until(lambda: lake().ok, what="the lake to be well again")
        finally:
            goes_on.set()
            health.stop()


def test_metrics_count_and_name_nothing(server: RunningServer, clock: FakeClock) -> None:
    server.project("very-secret-project")
    add_agent(server.deps.db, now=clock.now())
    add_volume(server.deps.db, capacity_bytes=1000)
    add_job(server.deps.db, project="very-secret-project", name="very-secret-job")
    server.user("maria", roles={"very-secret-project": Role.VIEWER}).get("/projects/very-secret-project")
    text = server.client().get(f"{server.url}/metrics").text
    assert 'millpond_jobs{state="queued"} 1.0' in text
    assert "millpond_volume_bytes 1000.0" in text
    assert "millpond_agents_connected 1.0" in text
    assert 'route="/projects/{project}",status="200"' in text
    assert "very-secret" not in text and "maria" not in text


def test_doctor_says_what_to_do(server: RunningServer, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    def checks() -> dict[str, tuple[bool, str | None]]:
        return {check["name"]: (check["ok"], check["hint"]) for check in server.admin.get("/doctor").json()["checks"]}

    before = checks()
    assert before["database"] == before["lake"] == before["disk"] == (True, None)
    assert not before["agent"][0] and "mill up" in str(before["agent"][1])
    assert not before["volume"][0] and "mill volume add" in str(before["volume"][1])
    add_agent(server.deps.db, now=clock.now())
    add_volume(server.deps.db)
    assert all(ok for ok, _ in checks().values())
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 99, 1))
    assert not checks()["disk"][0]


def test_doctor_names_silent_agents_and_fills_that_are_held_up(server: RunningServer, clock: FakeClock) -> None:
    def wrong() -> dict[str, str]:
        return {
            check["name"]: check["message"] for check in server.admin.get("/doctor").json()["checks"] if not check["ok"]
        }

    db = server.deps.db
    add_agent(db, "far", site="edge", now=clock.now())
    add_volume(db)
    clock.advance(3600)
    add_agent(db, "near", now=clock.now())
    assert wrong() == {"agent": "1 connected. Not heard of: far at edge, for 1 h."}
    add_commit(db)
    cached = server.admin.post("/caches", json={"dataset": "xray", "volume": "fast"}).json()["cached"]
    with db.write() as tx:
        caches.change(tx, cached["id"], problem="The lake does not respond.")
    assert wrong()["fills"] == "1 fill held up. site local: The lake does not respond."
