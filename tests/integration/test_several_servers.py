"""Two servers on one PostgreSQL: whatever one is told or tells counts at the other, too."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosedOK
from websockets.sync.client import connect

from millpond.blobs.memory import MemoryStore
from millpond.blobs.signing import LocalSigner
from millpond.db import placements, projects
from millpond.errors import Forbidden, TooMany
from millpond.loops.runner import Loop, LoopRunner
from millpond.model.agent import Agent
from millpond.model.ids import new_id
from millpond.model.job import Placement
from millpond.model.people import TokenKind
from millpond.services import server_processes
from millpond.services.computes import agents
from millpond.services.deps import Deps
from millpond.services.jobs import schedule, submit, tunnel_calls
from millpond.services.leadership import SharedLeadership
from millpond.services.people import tickets, tokens
from millpond.services.people.sessions import LoginLimiter
from millpond.testing.builders_data import the_admin
from millpond.testing.builders_work import add_agent, observed
from millpond.testing.postgres import Postgres
from millpond.testing.server import SECRET, RunningServer, running_server
from millpond.testing.waiting import wait_until
from millpond.wire.desired import DesiredTunnel
from millpond.wire.jobs import JobCreate
from millpond.wire.observed import Capabilities, PlacementSeen

DEADLINE = 20.0


@pytest.fixture(scope="module")
def servers(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningServer, RunningServer]]:
    store = MemoryStore(LocalSigner(SECRET))
    with postgres.database() as url:
        one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
        with (
            running_server(one, store=store, database_url=url, is_one_of_several=True) as first,
            running_server(two, store=store, database_url=url, is_one_of_several=True) as second,
        ):
            yield first, second


class Reader:
    """What a browser reads of a stream of events: (id, name, data)."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.iter_lines()
        self.id = ""

    def next(self) -> tuple[str, dict[str, object]]:
        """The next event; what only tells an id comes with it."""
        name, data = "", ""
        for line in self._lines:
            field, _, value = line.partition(": ")
            if field == "id":
                self.id = value
            elif field == "event":
                name = value
            elif field == "data":
                data = value
            elif not line and name:
                return name, json.loads(data)
            elif not line and self.id and not data:
                return "", {}
        raise AssertionError("the stream ended")


@contextmanager
def reading(server: RunningServer, topics: str = "jobs", last_id: str = "") -> Iterator[Reader]:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    with server.admin.stream("GET", "/events", params={"topics": topics}, headers=headers) as response:
        reader = Reader(response)
        reader.next()  # hello
        yield reader


def tell(server: RunningServer, what: str) -> None:
    server.deps.events.publish("jobs", project_id=None, data={"what": what})


def test_events_of_one_are_read_at_the_other(servers: tuple[RunningServer, RunningServer]) -> None:
    first, second = servers
    with reading(first) as here, reading(second) as there:
        tell(first, "one")
        tell(second, "two")
        assert {here.next()[1]["what"], here.next()[1]["what"]} == {"one", "two"}
        assert {there.next()[1]["what"], there.next()[1]["what"]} == {"one", "two"}
        assert here.id == there.id, "numbers are those of the database"


def test_a_reader_goes_on_at_the_other_where_it_was(servers: tuple[RunningServer, RunningServer]) -> None:
    first, second = servers
    with reading(first) as here:
        tell(first, "seen")
        assert here.next() == ("jobs", {"what": "seen"})
        seen = here.id
    for number in range(30):
        tell(servers[number % 2], f"missed {number}")
    # As if the other server had not heard of it yet.
    with reading(second, last_id=seen) as there:
        missed = [there.next()[1]["what"] for _ in range(30)]
    assert sorted(map(str, missed)) == sorted(f"missed {number}" for number in range(30))


def test_a_server_that_starts_knows_what_was_told_before(
    servers: tuple[RunningServer, RunningServer], tmp_path: Path
) -> None:
    first, _ = servers
    with reading(first) as here:
        tell(first, "seen")
        while here.next()[1]["what"] != "seen":
            pass  # what tests before this one told may come late
        seen = here.id
        tell(first, "missed")
        here.next()
    store = first.deps.store
    url = first.deps.settings.database_url
    with (
        running_server(tmp_path, store=store, database_url=url, is_one_of_several=True) as third,
        reading(third, last_id=seen) as there,
    ):
        assert there.next() == ("jobs", {"what": "missed"})


def test_an_id_of_another_database_loads_everything_anew(servers: tuple[RunningServer, RunningServer]) -> None:
    with servers[0].admin.stream(
        "GET", "/events", params={"topics": "jobs"}, headers={"Last-Event-ID": f"{new_id()}-5"}
    ) as response:
        assert Reader(response).next() == ("reset", {})


def test_wakes_and_changed_access_cross(servers: tuple[RunningServer, RunningServer]) -> None:
    first, second = servers
    bell, other = threading.Event(), threading.Event()
    second.hub.bell("agents", bell)
    second.hub.bell("schedule", other)
    first.deps.events.wake("schedule")
    first.deps.events.wake("agents")
    assert bell.wait(DEADLINE)
    assert not other.is_set(), "every server plans what happens in it"

    user = f"user-{new_id()}"
    client = second.user(user)
    with client.stream("GET", "/events", params={"topics": "jobs"}) as response:
        lines = response.iter_lines()
        next(lines)
        first.admin.patch(f"/users/{user}", json={"disabled": True})
        assert all("event" not in line for line in lines), "the stream ends"


def test_wrong_passwords_and_tickets_count_once_for_all(servers: tuple[RunningServer, RunningServer]) -> None:
    first, second = servers
    now = first.deps.clock.now()
    limits = [LoginLimiter(first.deps.db), LoginLimiter(second.deps.db)]
    for number in range(10):
        limits[number % 2].failed(name="guessed", address="here", now=now)
    for limit in limits:
        with pytest.raises(TooMany, match="Too many"):
            limit.check(name="guessed", address="elsewhere", now=now)
        limit.check(name="another", address="here", now=now)

    ticket = tickets.issue(SECRET, "job", {"id": 1}, now)
    assert tickets.redeem(SECRET, "job", ticket, first.deps.db, now) == {"id": 1}
    with pytest.raises(Forbidden, match="already used"):
        tickets.redeem(SECRET, "job", ticket, second.deps.db, now)


def running_job(deps: Deps) -> tuple[str, Agent, str]:
    """The name of a job that runs, its agent, and the agent's credential."""
    added = add_agent(deps.db)
    with deps.db.write() as tx:
        token = tokens.add(tx, TokenKind.AGENT, name="agent", now=deps.clock.now(), agent_id=added.agent.id)[1]
        project = projects.find(tx, "default")
    assert project is not None
    able = Capabilities(ports=True, exec=True, shared_trust=False)
    agents.observe(deps, added.actor, observed(capabilities=able))
    submit.submit(deps, the_admin(deps), project, JobCreate(name="serves", command=["true"]))

    def placed() -> Sequence[Placement]:
        schedule.run_once(deps, deps.clock.now())
        with deps.db.read() as tx:
            return placements.living(tx)

    (placement,) = wait_until(placed, within=DEADLINE, what="the job to be placed")
    seen = PlacementSeen(id=placement.id, state="running", started_at=deps.clock.now())
    agents.observe(deps, added.actor, observed(placements=[seen], capabilities=able))
    return "serves", added.agent, token


def test_an_agent_that_comes_to_the_other_server_reaches_the_stream(
    servers: tuple[RunningServer, RunningServer],
) -> None:
    first, second = servers
    job, agent, token = running_job(first.deps)

    def waiting() -> list[DesiredTunnel]:
        with second.deps.db.read() as tx:
            return tunnel_calls.waiting_for(second.deps, tx, agent)

    person, comes = {"Authorization": f"Bearer {first.token_of('admin')}"}, {"Authorization": f"Bearer {token}"}
    asked, here = f"{_ws(first)}/projects/default/jobs/{job}/ports/8888", f"{_ws(second)}/agents/tunnels/"
    with connect(asked, additional_headers=person, proxy=None) as client:
        (wanted,) = wait_until(waiting, within=DEADLINE, what="the other server to hear of the stream")
        assert wanted.server is None, "it comes by the address that it knows"
        with connect(f"{here}{wanted.id}", additional_headers=comes, proxy=None) as far:
            far.send(b"from the agent")
            assert client.recv(DEADLINE) == b"from the agent"
            client.send("from the client")
            assert far.recv(DEADLINE) == "from the client"
            client.close()
            with pytest.raises(ConnectionClosedOK):
                far.recv(DEADLINE)


def test_an_agent_that_nobody_waits_for_is_told(servers: tuple[RunningServer, RunningServer]) -> None:
    first, second = servers
    agent = add_agent(first.deps.db, "other", site="elsewhere").agent
    with first.deps.db.write() as tx:
        token = tokens.add(tx, TokenKind.AGENT, name="agent", now=first.deps.clock.now(), agent_id=agent.id)[1]
    address = f"{_ws(second)}/agents/tunnels/{new_id()}"
    with connect(address, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None) as far:
        assert "already closed" in str(far.recv(DEADLINE))


def _ws(server: RunningServer) -> str:
    return f"{server.url.replace('http', 'ws')}/api/v1"


def test_one_server_leads_and_another_follows(servers: tuple[RunningServer, RunningServer]) -> None:
    first, second = (SharedLeadership(one.deps.db) for one in servers)
    assert first.is_ours("sweep")
    assert not second.is_ours("sweep")
    assert second.is_ours("another"), "each work has a leader of its own"
    calls: list[str] = []
    loop = Loop("sweep", "sweep", 0.01, lambda now: calls.append("second"), once=True)
    runner = LoopRunner([loop], clock=servers[1].deps.clock, hub=servers[1].hub, leadership=second)
    runner.start()
    assert first.is_ours("sweep")
    assert calls == []
    first.close()
    wait_until(lambda: calls, within=DEADLINE, what="the other server to go on")
    runner.stop()
    second.close()


def test_servers_know_each_other(servers: tuple[RunningServer, RunningServer]) -> None:
    for server in servers:
        server_processes.note(server.deps, server.deps.clock.now())
    found = server_processes.living(servers[1].deps)
    assert {one.url for one in found} >= {server.url for server in servers}
