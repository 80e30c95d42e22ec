"""Health, readiness, metrics and the doctor."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from millpond.blobs.memory import MemoryStore
from millpond.blobs.store import BlobInfo
from millpond.db import caches
from millpond.errors import StoreUnavailable
from millpond.model.people import Role
from millpond.testing.builders_work import add_agent, add_commit, add_job, add_volume
from millpond.testing.clock import FakeClock
from millpond.testing.server import RunningServer, running_server


class AwayStore(MemoryStore):
    """A lake that does not answer."""

    def head(self, key: str) -> BlobInfo | None:
        raise StoreUnavailable("The lake is away.")

    def put(self, key: str, data: object, *, if_absent: bool = False) -> None:
        raise StoreUnavailable("The lake is away.")


def test_healthy_and_ready(server: RunningServer) -> None:
    for path in ("healthz", "readyz"):
        assert server.client().get(f"{server.url}/{path}").status_code == 200


def test_not_ready_while_the_lake_is_away(tmp_path: Path) -> None:
    with running_server(tmp_path, store=AwayStore()) as server:
        assert server.client().get(f"{server.url}/healthz").status_code == 200
        response = server.client().get(f"{server.url}/readyz")
        assert (response.status_code, response.json()["code"]) == (503, "store_unavailable")
        checks = {check["name"]: check for check in server.admin.get("/doctor").json()["checks"]}
        assert not checks["lake"]["ok"] and "The lake is away." in checks["lake"]["message"]


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
