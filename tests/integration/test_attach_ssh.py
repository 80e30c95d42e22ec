"""`mill compute attach ssh` to a real SSH server: what it brings, what it starts, and what it says when it cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from millpond.model.people import SYSTEM
from millpond.services.places import sites
from millpond.testing.server import RunningServer, running_server
from millpond.testing.sshd import SSHD, Sshd, running_sshd
from millpond.testing.waiting import wait_until

pytestmark = pytest.mark.skipif(
    not SSHD.exists() or os.geteuid() != 0, reason="needs openssh-server, and root to start it (dev/apt.txt)"
)


@dataclass(frozen=True)
class Lab:
    root: Path
    server: RunningServer
    sshd: Sshd
    home: Path

    def attach(self, *options: str, port: int | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "millpond", "compute", "attach", "ssh", f"{self.sshd.user}@127.0.0.1"]
        command += ["--port", str(port or self.sshd.port), "--site", "lab", "--json", *options]
        environment = {**os.environ, "MILL_SERVER": self.server.url, "MILL_TOKEN": self.server.token_of("admin")}
        environment |= {"HOME": str(self.root / "here"), "SSH_AUTH_SOCK": ""}
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=100)

    def key(self, name: str = "user") -> list[str]:
        return ["--identity", str(self.sshd.identity.with_name(name)), "--known-hosts", str(self.sshd.known_hosts)]

    def agents(self) -> list[psutil.Process]:
        """Those that were started below this lab's home."""
        found = psutil.process_iter(["cmdline"])
        return [one for one in found if any(str(self.home) in part for part in one.info["cmdline"] or [])]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    root = tmp_path_factory.mktemp("ssh")
    home = root / "far-home"
    home.mkdir()
    (root / "here").mkdir()
    with running_server(root / "data") as server, running_sshd(root, home) as sshd:
        sites.create(server.deps, SYSTEM, "lab")
        found = Lab(root, server, sshd, home)
        yield found
        for process in found.agents():
            process.send_signal(signal.SIGKILL)


def error(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    told = json.loads(done.stderr.splitlines()[-1])["error"]
    return done.returncode, told["code"], told["message"]


def test_a_machine_is_attached_and_stays(lab: Lab) -> None:
    done = lab.attach(*lab.key(), "--python", "/usr/bin/python3", "--node", "far")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["name"], found["site"], found["health"]) == ("far", "lab", "ok")
    assert found["cpus"] > 0 and found["memory_bytes"] > 0
    # The connection has ended, and the agent goes on, in a session of its own, with the packages that were copied.
    (agent,) = lab.agents()
    assert os.getsid(agent.pid) == agent.pid
    assert agent.environ()["PYTHONPATH"].startswith(str(lab.home / ".millpond/packages"))
    # As after a reboot: the script that was left there starts it again.
    agent.kill()
    agent.wait(10)
    (script,) = lab.home.glob(".millpond/agents/*/start")
    subprocess.run(["setsid", "--fork", script], check=True)
    wait_until(lambda: [other.pid != agent.pid for other in lab.agents()] == [True], what="the agent again", within=60)
    private = [*lab.home.rglob("join-token"), *lab.home.rglob("credential.json")]
    assert len(private) == 2 and all(path.stat().st_mode & 0o077 == 0 for path in private)
    assert lab.server.admin.delete("/computes/far").status_code == 204
    wait_until(lambda: not lab.agents(), what="the agent's end", within=60)
    secret = lab.sshd.identity.read_text()
    assert all(secret not in path.read_text("utf-8", "replace") for path in lab.home.rglob("*.log"))


@pytest.mark.long
def test_what_is_wrong_is_told_apart(lab: Lab) -> None:
    code, kind, words = error(lab.attach(*lab.key(), port=1))
    assert (code, kind) == (6, "unavailable") and "over SSH" in words
    code, kind, words = error(lab.attach(*lab.key("stranger")))
    assert (code, kind) == (4, "not_signed_in") and "refused the login" in words
    unknown = ["--identity", str(lab.sshd.identity), "--known-hosts", str(lab.sshd.unknown)]
    code, kind, words = error(lab.attach(*unknown))
    assert (code, kind) == (4, "forbidden") and "host key" in words
    code, kind, words = error(lab.attach(*lab.key(), "--python", "/usr/bin/no-python"))
    assert (code, kind) == (1, "setup") and "Python 3.11 or newer" in words
    # A host that is not known is taken when that was said, and remembered.
    code, kind, words = error(lab.attach(*unknown, "--accept-new-host-key", "--url", "http://127.0.0.1:1"))
    assert (code, kind) == (1, "setup") and "cannot reach the server at http://127.0.0.1:1" in words
    assert lab.sshd.unknown.read_text().split()[:1] == [f"[127.0.0.1]:{lab.sshd.port}"]
    assert lab.agents() == []
