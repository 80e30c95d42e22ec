"""Files of services: given by rename, read without trust, told when they are worth telling."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from millpond.agent import service_folder, service_watch
from millpond.agent.service_folder import SERVICE
from millpond.agent.service_watch import ServiceWatch
from millpond.model.job_spec import JobService
from millpond.wire.desired import DesiredService


@pytest.fixture
def placement(tmp_path: Path) -> Path:
    directory = tmp_path / "placements" / "p1"
    directory.mkdir(parents=True)
    service_folder.make(directory, DesiredService(token="t", config='{"revision": 1}'))
    return directory


def test_files_are_replaced_when_they_change_and_are_its_owners_alone(placement: Path) -> None:
    config = placement / SERVICE / "router.json"
    before = config.stat().st_ino
    service_folder.write_files(placement, DesiredService(token="t", config='{"revision": 1}'))
    assert config.stat().st_ino == before, "what has not changed is left alone"
    service_folder.write_files(placement, DesiredService(token="t", config='{"revision": 2}'))
    assert json.loads(config.read_text()) == {"revision": 2} and config.stat().st_mode & 0o077 == 0


def test_links_that_the_job_puts_there_are_not_followed(placement: Path, tmp_path: Path) -> None:
    outside = tmp_path / "secret"
    outside.write_text('{"key": "value"}')
    (placement / SERVICE / "stats.json").symlink_to(outside)
    (placement / SERVICE / "router.json").unlink()
    (placement / SERVICE / "router.json").symlink_to(outside)
    assert service_folder.seen(placement).stats is None
    service_folder.write_files(placement, DesiredService(config="{}"))
    assert outside.read_text() == '{"key": "value"}'


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_as_good_as_nothing(placement: Path, content: bytes) -> None:
    (placement / SERVICE / "ready.json").write_bytes(content)
    assert service_folder.seen(placement).ready is None
    (placement / SERVICE / "ready.json").unlink()
    os.mkfifo(placement / SERVICE / "ready.json")
    assert service_folder.seen(placement).ready is None


def test_a_socket_whose_path_would_be_too_long_becomes_a_port(tmp_path: Path) -> None:
    service = JobService("replica", "e", "m@1")
    short = service_folder.variables(service, DesiredService(), Path("/s/placements/p1"), 7)
    assert short["MILL_SERVICE_LISTEN"].startswith("--listen-unix /s/sockets/7/p1.http")
    long = service_folder.variables(service, DesiredService(), Path("/s") / ("x" * 90) / "placements" / "p1", 7)
    assert "--http-port 0" in long["MILL_SERVICE_LISTEN"]


def test_a_replica_whose_router_may_be_elsewhere_has_ports_beside_its_sockets() -> None:
    service, place = JobService("replica", "e", "m@1", remote=True), Path("/s/placements/p1")
    both = service_folder.variables(service, DesiredService(), place, 7, "127.0.0.1")["MILL_SERVICE_LISTEN"]
    assert "--listen-unix /s/sockets/7/p1.http" in both and "--host 127.0.0.1 --http-port 0 --grpc-port 0" in both
    cluster = service_folder.variables(service, DesiredService(), place, 7, None)["MILL_SERVICE_LISTEN"]
    assert cluster == "--host 0.0.0.0 --http-port 0 --grpc-port 0", "a node of a cluster shares no sockets"


def test_everywhere_is_told_as_the_address_of_the_machine(placement: Path) -> None:
    told = {"http": "unix:/s/p", "grpc": None, "remote_http": "tcp:0.0.0.0:40", "load_s": 1}
    assert service_folder.reached(told, "10.0.0.7")["remote_http"] == "tcp:10.0.0.7:40"
    ports = service_folder.reached({"http": "tcp:0.0.0.0:40", "grpc": "tcp:[::]:41"}, "2001:db8::1")
    assert ports["http"] == ports["remote_http"] == "tcp:[2001:db8::1]:40" and ports["grpc"] == "tcp:[2001:db8::1]:41"
    assert service_folder.reached({"http": "tcp:127.0.0.1:40"}, "10.0.0.7") == {"http": "tcp:127.0.0.1:40"}


def test_a_replica_is_ready_once_it_is_known_where_it_runs(placement: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment, hosts = [100.0], [None, "node-7"]
    monkeypatch.setattr(service_watch.time, "monotonic", lambda: moment[0])
    watch = ServiceWatch(placement, lambda: hosts[0])
    (placement / SERVICE / "ready.json").write_text('{"http": "tcp:0.0.0.0:40"}')
    watch.look()
    assert watch.seen is not None and watch.seen.ready is None
    del hosts[0]
    moment[0] += 1
    assert watch.look() and watch.seen.ready is not None and watch.seen.ready["http"] == "tcp:node-7:40"


def test_only_news_are_told(placement: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = [100.0]
    monkeypatch.setattr(service_watch.time, "monotonic", lambda: moment[0])
    watch = ServiceWatch(placement)

    def look(held: int | None = None, requests: int = 0, at: int = 0) -> bool:
        moment[0] += 0.5
        if held is not None:
            stats = {"at": at, "endpoints": [{"held": held, "requests": requests}]}
            (placement / SERVICE / "stats.json").write_text(json.dumps(stats))
        return watch.look()

    assert not look(), "nothing was written yet"
    assert look(held=0)
    assert not look(held=0, at=1), "only the time has changed"
    assert not look(held=0, requests=1), "counts alone wait a little"
    assert look(held=1), "requests that wait are told at once"
    moment[0] += 5
    assert look(held=1, requests=9) and watch.seen is not None
    (placement / SERVICE / "ready.json").write_text('{"http": "unix:/s"}')
    assert look() and watch.seen.ready == {"http": "unix:/s"}
