"""`mill up` as a process: first start, second start, the next free port, kill -9, PostgreSQL."""

from __future__ import annotations

import re
import socket
import stat
import subprocess
import time
from pathlib import Path

import httpx
import psutil
import pytest

from millpond.api.listener import bind
from millpond.client.credentials import load_credentials, save_token
from millpond.settings import DEFAULT_PORT
from millpond.testing.postgres import Postgres
from millpond.testing.up import environment, mill_up, mill_up_command
from millpond.testing.waiting import wait_until
from millpond.testing.website import make_certificate

PASSWORD = re.compile(r"with the password in (\S+)")


def sign_in(url: str, password: str) -> int:
    body = {"name": "admin", "password": password}
    with httpx.Client(trust_env=False, verify=False) as client:
        return client.post(f"{url}/api/v1/session", json=body).status_code


def agents_of(data_dir: Path) -> list[psutil.Process]:
    """Agent processes that use this data directory."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        line = process.info["cmdline"] or []
        if "agent" in line and str(data_dir / "agent") in line:
            found.append(process)
    return found


def test_first_start_stop_and_second_start(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with mill_up(data_dir, cold=True) as mill, mill.client() as client:
        # In seconds of its own processor time, and with room for a busy machine: it needs one and a half.
        used = psutil.Process(mill.process.pid).cpu_times()
        assert used.user + used.system < 5, "ready soon"
        file = PASSWORD.search(mill.output)
        assert file, "where the administrator's password lies is printed"
        assert stat.S_IMODE(Path(file[1]).stat().st_mode) == 0o600
        password = Path(file[1]).read_text().strip()
        assert password not in mill.output, "output that is no terminal may be a log that others read"
        assert client.get("/session").json()["user"]["name"] == "admin", "the local command line is signed in"
        assert [p["name"] for p in client.get("/projects").json()["items"]] == ["default"]
        assert sign_in(mill.url, password) == 201
        assert all(one["seen_at"] for one in client.get("/volumes").json()["items"]), "ready to cache and to run, too"
        wait_until(lambda: client.get("/computes").json()["items"][0]["connected"], what="the agent's first word")
        server = psutil.Process(mill.process.pid)
        memory = sum(process.memory_info().rss for process in [server, *server.children(recursive=True)])
        assert memory < 300e6, "server and agent together, idle"
        # A stream that is open and an agent that waits must not hold the server back.
        with client.stream("GET", "/events", params={"topics": "jobs"}) as stream:
            next(stream.iter_lines())
            began = time.monotonic()
            assert mill.stop() == 0
        assert time.monotonic() - began < 5
        assert agents_of(data_dir) == []
    for name in ("cli-token", "millpond.db", "agent/token"):
        assert (data_dir / name).stat().st_mode & 0o077 == 0, f"{name} is for its owner alone"
    save_token(tmp_path / "other", "http://lab.example.org", "mill_lab")
    with mill_up(data_dir, "--no-agent", home=tmp_path / "other", cold=True) as again:
        assert "password" not in again.output
        assert "nobody looks after the compute and volume `local`" in again.output
        assert sign_in(again.url, password) == 201
        known = load_credentials(tmp_path / "other")
        assert known.current == "http://lab.example.org", "the user's current server stays"
        assert "Your current server stays lab" in again.output
        assert known.name_of(again.url) == "local"


@pytest.mark.long
def test_kill_and_start_again(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with mill_up(data_dir) as mill, mill.client() as client:
        wait_until(lambda: client.get("/computes").json()["items"][0]["connected"], what="the agent's first word")
        assert client.post("/projects", json={"name": "vision"}).status_code == 201
        mill.kill()
    with mill_up(data_dir) as again, again.client() as client:
        assert client.get("/projects/vision").status_code == 200, "what was answered is there"
        child = psutil.Process(again.process.pid).children
        wait_until(lambda: [a.pid for a in agents_of(data_dir)] == [c.pid for c in child()] != [], what="one agent")


@pytest.mark.long
def test_next_free_port_is_used_and_printed(tmp_path: Path) -> None:
    data_dir, log = tmp_path / "data", tmp_path / "log"
    try:
        taken: socket.socket | None = bind("127.0.0.1", DEFAULT_PORT)
    except OSError:
        taken = None  # somebody else has it, and may let go of it any moment
    with log.open("wb") as output:
        command = mill_up_command(data_dir, "--no-agent")
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment(tmp_path / "home"))
    try:
        found = wait_until(lambda: re.search(r"ready at http://127.0.0.1:(\d+)", log.read_text()), within=60)
        if taken is not None:
            assert int(found[1]) > DEFAULT_PORT
        assert (int(found[1]) > DEFAULT_PORT) == (f"port {DEFAULT_PORT} is in use" in log.read_text())
    finally:
        process.terminate()
        process.wait(30)
        if taken is not None:
            taken.close()


def test_on_postgresql(tmp_path: Path, postgres: Postgres) -> None:
    with postgres.database() as url, mill_up(tmp_path / "data", "--db", url) as mill, mill.client() as client:
        wait_until(lambda: client.get("/computes").json()["items"][0]["connected"], what="the agent's first word")
        checks = {check["name"]: check for check in client.get("/doctor").json()["checks"]}
        assert checks["database"]["message"].startswith("PostgreSQL")
        assert all(check["ok"] for check in checks.values()), checks
        mill.stop()


def test_a_server_with_tls_and_its_agent(tmp_path: Path) -> None:
    """The agent and the command line of this machine trust a certificate that nobody vouches for, also a new one."""
    cert, key = make_certificate(tmp_path / "tls", hosts=["localhost"])
    with mill_up(tmp_path / "data", "--tls-cert", str(cert), "--tls-key", str(key)) as mill, mill.client() as client:
        assert mill.url.startswith("https://127.0.0.1:")
        assert f"export MILL_CA_FILE={tmp_path / 'data' / 'trusted.pem'}" in mill.output
        job = client.post("/projects/default/jobs", json={"name": "hello", "command": ["echo", "hello"]}).json()["id"]
        place = f"/projects/default/jobs/{job}"
        wait_until(lambda: client.get(place).json()["state"] == "succeeded", what="a job beside a server with TLS")
        make_certificate(tmp_path / "tls", hosts=["localhost"])
        wait_until(lambda: "certificate_reloaded" in mill.output, what="the new certificate")
        wait_until(lambda: mill.output.count("agent_connected") == 2, what="the agent with the new certificate")
        assert mill.stop() == 0
