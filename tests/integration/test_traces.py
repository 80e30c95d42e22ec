"""Traces, as a collector receives them: OTLP over HTTP, decoded by the test."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from millpond import tracing
from millpond.api.watched_calls import WatchedCalls
from millpond.client.credentials import save_token
from millpond.db import actors, projects, users
from millpond.model.people import Role
from millpond.services.measures import Measures
from millpond.testing.builders_work import add_agent, add_commit, add_volume
from millpond.testing.clock import FakeClock
from millpond.testing.daemons import free_port
from millpond.testing.events import FakeEvents
from millpond.testing.server import ADMIN, RunningServer, running_server
from millpond.testing.up import environment
from millpond.wire.observed import PlacementSeen
from tests.unit.services.world import World

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed: pip install 'millpond[otel]'")
messages = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADER = {"traceparent": f"00-{TRACE}-{PARENT}-01"}


@dataclass(frozen=True, slots=True)
class Received:
    service: str
    name: str
    trace: str
    id: str
    parent: str
    begin: int
    end: int
    attributes: dict[str, Any]
    failed: bool


@dataclass
class Collector:
    url: str
    spans: list[Received] = field(default_factory=list)

    def named(self, name: str) -> list[Received]:
        return [one for one in self.spans if one.name == name]


@pytest.fixture
def collector() -> Iterator[Collector]:
    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            assert self.path == "/v1/traces" and self.headers["content-type"] == "application/x-protobuf"
            request = messages.ExportTraceServiceRequest()
            request.ParseFromString(body)
            found.spans.extend(_read(request))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    found = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def server(tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    """One whose process sends traces, until the test stops that to see all of them."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    assert tracing.start("millpond-server")
    try:
        with running_server(tmp_path / "data", clock=FakeClock()) as running:
            yield running
    finally:
        tracing.stop()


def test_a_submit_its_queue_fill_start_and_run_are_one_trace(server: RunningServer, collector: Collector) -> None:
    deps = server.deps
    maria = server.user("maria", roles={"default": Role.MEMBER})
    with deps.db.read() as tx:
        project, user = projects.find(tx, "default"), users.find(tx, "maria")
        assert project is not None and user is not None
        actor = actors.of_user(tx, user)
    clock = deps.clock
    assert isinstance(clock, FakeClock)
    world = World(deps, clock, FakeEvents(), project, actor, add_agent(deps.db), add_volume(deps.db))
    add_commit(deps.db, "secret-data", size=1000)
    asked = {"name": "secret-job", "command": ["secret-command"], "inputs": ["secret-data"]}
    answer = maria.post("/projects/default/jobs", json=asked, headers={**HEADER, "X-Request-Id": "request-0001"})
    assert answer.is_success, answer.text
    clock.advance(7)
    world.schedule()
    (placement,) = world.sync().placements
    clock.advance(11)
    world.fill_all()
    clock.advance(1)
    world.sync(PlacementSeen(id=placement.id, state="running", started_at=clock.now()))
    clock.advance(5)
    world.sync(
        PlacementSeen(id=placement.id, state="finished", started_at=clock.now(), exited_at=clock.now(), exit_code=0)
    )
    tracing.stop()

    (request,) = collector.named("POST /projects/{project}/jobs")
    assert (request.trace, request.parent, request.service) == (TRACE, PARENT, "millpond-server")
    assert request.attributes == {
        "http.request.method": "POST", "http.route": "/projects/{project}/jobs",
        "http.response.status_code": 201, "millpond.request.id": "request-0001",
    }  # fmt: skip
    parts = {one.name: one for one in collector.spans if one.name.startswith("job.")}
    assert {name: (one.trace, one.parent) for name, one in parts.items()} == dict.fromkeys(
        ("job.queue", "job.fill", "job.prepare", "job.run", "job.save"), (TRACE, request.id)
    )
    assert round((parts["job.queue"].end - parts["job.queue"].begin) / 1e9) == 7
    assert round((parts["job.fill"].end - parts["job.fill"].begin) / 1e9) >= 11
    job = answer.json()["id"]
    assert all(one.attributes["millpond.job.id"] == job for one in parts.values())
    assert "secret" not in repr(collector.spans) and "maria" not in repr(collector.spans)


def test_errors_are_told_by_kind_and_a_header_that_is_none_begins_a_trace(
    server: RunningServer, collector: Collector
) -> None:
    answer = server.admin.get("/projects/no-such", headers={"traceparent": "nonsense-secret"})
    assert answer.status_code == 404
    with pytest.raises(ValueError, match="secret"), tracing.span("work"):
        raise ValueError("a secret word")
    tracing.stop()
    (request,) = collector.named("GET /projects/{project}")
    assert request.parent == "" and request.trace != TRACE and not request.failed
    (work,) = collector.named("work")
    assert work.failed and work.attributes == {"error.type": "ValueError"}
    assert "secret" not in repr(collector.spans)


def test_slow_transactions_and_calls_to_the_lake_are_below_what_asked_for_them(
    server: RunningServer, collector: Collector
) -> None:
    calls = WatchedCalls(Measures())
    calls.transaction("write", 3.0)  # nothing asked for it: no trace
    with tracing.span("outer"):
        calls.transaction("read", 0.001)
        calls.transaction("write", 0.5)
        calls.lake_call("get", 0.2, failed=True)
    tracing.stop()
    (outer,) = collector.named("outer")
    (write,) = collector.named("database write")
    (get,) = collector.named("lake get")
    assert write.parent == get.parent == outer.id and collector.named("database read") == []
    assert round((write.end - write.begin) / 1e8) == 5 and get.attributes == {"millpond.failed": True}


def test_a_command_passes_its_trace_on_to_the_server(
    server: RunningServer, collector: Collector, tmp_path: Path
) -> None:
    save_token(tmp_path / "home", server.url, server.token_of(ADMIN))
    env = environment(tmp_path / "home") | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "MILL_SERVER": server.url}
    command = [sys.executable, "-m", "millpond", "project", "list"]
    subprocess.run(command, env=env | {"TRACEPARENT": HEADER["traceparent"]}, check=True, capture_output=True)
    (sent,) = collector.named("mill project")
    assert (sent.service, sent.trace, sent.parent) == ("mill", TRACE, PARENT)
    # A collector that is away costs no more than a moment, and no word.
    away = env | {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    done = subprocess.run(command, env=away, check=True, capture_output=True, text=True)
    assert "default" in done.stdout and "rror" not in done.stderr
    tracing.stop()
    asked = [
        one
        for one in collector.spans
        if one.service == "millpond-server" and one.trace == TRACE and "http.route" in one.attributes
    ]
    assert asked and {one.parent for one in asked} == {sent.id}


def test_nothing_is_loaded_where_no_endpoint_is_named() -> None:
    program = (
        "import sys, millpond.app, millpond.cli.main, millpond.agent.agent; from millpond import tracing\n"
        "assert not tracing.start('millpond-server') and not tracing.is_on()\n"
        "with tracing.span('x') as span: span.set(a=1)\n"
        "sys.exit(any(name.startswith(('opentelemetry.sdk', 'opentelemetry.exporter')) for name in sys.modules))"
    )
    env = {name: value for name, value in environment(Path("/nonexistent")).items() if not name.startswith("OTEL_")}
    subprocess.run([sys.executable, "-c", program], env=env, check=True)
    assert not tracing.start("x", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "true"})


def _read(request: Any) -> Iterator[Received]:
    for resource in request.resource_spans:
        named = {one.key: one.value.string_value for one in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Received(
                    named["service.name"], span.name, span.trace_id.hex(), span.span_id.hex(),
                    span.parent_span_id.hex(), span.start_time_unix_nano, span.end_time_unix_nano,
                    {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes},
                    span.status.code == 2,
                )  # fmt: skip
