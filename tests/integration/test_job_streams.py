"""Into a running job: commands beside it, terminals, ports; and who may not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.sync.client import connect

from millpond.client.http import Api
from millpond.client.streams import STDIN, STDOUT, Stream, open_exec, open_port
from millpond.errors import MillError, NotFound, NotReady
from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

# Says which port it got, then answers one word to whoever connects.
LISTEN = """
import os, socket, pathlib
with socket.create_server(("127.0.0.1", 0)) as listening:
    pathlib.Path(os.environ["MILL_OUTPUT"], "port").write_text(str(listening.getsockname()[1]))
    print(listening.getsockname()[1], flush=True)
    while True:
        connection, _ = listening.accept()
        with connection:
            said = b"".join(iter(lambda: connection.recv(100), b""))
            connection.sendall(b"you said " + said)
"""
WITHIN = 60


@pytest.fixture(scope="module")
def server(shared_up: MillUp) -> MillUp:
    return shared_up


@pytest.fixture
def mill(server: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(server, capfd, tmp_path)


@pytest.fixture
def api(server: MillUp) -> Iterator[Api]:
    token = json.loads((server.home / "credentials.json").read_text())["servers"][server.url]["token"]
    with Api(server.url, token) as api:
        yield api


@pytest.fixture
def job(mill: Mill) -> Iterator[str]:
    """The name of a job that listens at a port, and says in its log at which."""
    made = mill.ok("submit", "--no-code", "--json", "--", sys.executable, "-c", LISTEN).json
    wait_until(lambda: mill.ok("logs", made["id"]).out.strip(), what="the job to listen")
    wait_until(lambda: mill.ok("get", made["id"], "--json").json["state"] == "running", what="the server to hear of it")
    yield made["id"]
    mill.ok("stop", made["id"])
    wait_until(lambda: mill.ok("get", made["id"], "--json").json["ended_at"], what="the job's end")


def port_of(mill: Mill, job: str) -> int:
    return int(mill.ok("logs", job).out)


def said_by(stream: Stream, channel: int = STDOUT) -> bytes:
    return b"".join(one[1:] for one in stream.messages() if isinstance(one, bytes) and one[0] == channel)


def test_a_command_beside_a_job(server: MillUp, job: str) -> None:
    script = "cat; echo $MILL_JOB_ID; echo wrong >&2; exit 3"
    done = subprocess.run(
        [sys.executable, "-m", "millpond", "exec", job, "--", "sh", "-c", script],
        input=b"typed\n", capture_output=True, env=environment(server.home), timeout=WITHIN, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (3, f"typed\n{job}\n".encode(), b"wrong\n")


def test_a_terminal_has_a_size_and_is_the_controlling_one(api: Api, job: str) -> None:
    script = "stty size; read line; stty size; echo done > /dev/tty"
    with open_exec(api, "default", job, ["sh", "-c", script], terminal=(101, 31)) as stream:
        first = next(one for one in stream.messages() if isinstance(one, bytes))
        stream.send('{"resize": [90, 30]}')
        stream.send(bytes([STDIN]) + b"go\n")
        seen = said_by(stream)
    assert first[1:] == b"31 101\r\n"
    assert seen.splitlines() == [b"go", b"30 90", b"done"], "what was typed, then what it wrote"


def test_much_output_arrives_whole(api: Api, job: str) -> None:
    with open_exec(api, "default", job, ["sh", "-c", "head -c 20000000 /dev/zero"]) as stream:
        assert said_by(stream) == bytes(20_000_000)


def test_a_port_of_a_job(api: Api, mill: Mill, job: str) -> None:
    with open_port(api, "default", job, port_of(mill, job)) as stream:
        stream.send(b"hello")
        stream.send(b"")
        heard = b"".join(one for one in stream.messages() if isinstance(one, bytes))
    assert heard == b"you said hello"


def test_a_port_that_is_not_the_jobs(api: Api, server: MillUp, job: str) -> None:
    """A number says nothing about whose it is: here it is the server's own."""
    with (
        open_port(api, "default", job, int(server.url.rpartition(":")[2])) as stream,
        pytest.raises(MillError, match="No process of the job listens"),
    ):
        list(stream.messages())


def test_commands_end_with_their_stream(api: Api, job: str, tmp_path: Path) -> None:
    with open_exec(api, "default", job, ["sh", "-c", "echo $$; exec sleep 1000"]) as stream:
        pid = next(int(one[1:]) for one in stream.messages() if isinstance(one, bytes))
        assert Path(f"/proc/{pid}").exists()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), within=WITHIN, what="the command to end")


def test_a_job_that_has_ended_has_no_streams(api: Api, mill: Mill) -> None:
    made = mill.ok("submit", "--no-code", "--wait", "--json", "--", "true").json
    with open_exec(api, "default", made["id"], ["true"]) as stream, pytest.raises(NotReady, match="succeeded"):
        list(stream.messages())


def test_strangers_learn_nothing(server: MillUp, mill: Mill, job: str) -> None:
    with server.client() as admin:
        admin.post("/users", json={"name": "eve", "password": "a long enough password"})
        signed = admin.post("/session", json={"name": "eve", "password": "a long enough password"})
    cookie = signed.cookies.get("mill_session")
    address = f"{server.url.replace('http', 'ws')}/api/v1/projects/default/jobs/{job}/exec?command=id"
    for headers, code in (
        ({}, "not_signed_in"),
        ({"Cookie": f"mill_session={cookie}", "Origin": server.url}, "not_found"),
        ({"Cookie": f"mill_session={cookie}", "Origin": "http://elsewhere.example"}, "forbidden"),
        ({"Cookie": f"mill_session={cookie}"}, "forbidden"),
    ):
        with connect(address, additional_headers=headers, proxy=None) as socket:
            assert json.loads(socket.recv())["problem"]["code"] == code, headers


def test_nobody_but_its_agent_comes_for_a_stream(api: Api, server: MillUp) -> None:
    address = f"{server.url.replace('http', 'ws')}/api/v1/agents/tunnels/any"
    with connect(address, additional_headers={"Authorization": f"Bearer {api.token}"}, proxy=None) as socket:
        assert json.loads(socket.recv())["problem"]["code"] == "forbidden"


def test_a_job_that_does_not_exist(api: Api) -> None:
    with open_exec(api, "default", "nothing-here", ["true"]) as stream, pytest.raises(NotFound):
        list(stream.messages())
