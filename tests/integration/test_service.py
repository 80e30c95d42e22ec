"""`mill service`: units that systemd accepts, whose commands run with no more rights than they give."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from millpond.cli.main import main
from millpond.client.service_units import AGENT_CAPABILITIES
from millpond.testing.up import end_mounts, end_services, environment, mill_up
from millpond.testing.waiting import wait_until

# What systemd's own judgement of a hardened server must not exceed; 10 is a service without any protection.
MOST_EXPOSED = 2.0


def install(root: Path, kind: str, *arguments: str) -> Path:
    """The unit, for a machine whose `/` is `root`."""
    assert not main(["service", "install", kind, "--root", str(root), "--", *arguments])
    return root / f"etc/systemd/system/millpond-{kind}.service"


def started_by(unit: Path, state: Path) -> list[str]:
    found = re.search(r"^ExecStart=(.*)$", unit.read_text(), re.M)
    assert found
    return shlex.split(re.sub(r"/var/lib/millpond\S*", str(state), found[1]).replace("%%", "%"))


@pytest.mark.parametrize("kind", ["server", "agent"])
def test_systemd_accepts_the_units(tmp_path: Path, kind: str) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed (dev/apt.txt: systemd)")
    unit = install(tmp_path, kind, "--server=http://127.0.0.1:8420" if kind == "agent" else "--port=8420")
    checked = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
    judged = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", str(unit)], capture_output=True, text=True, check=False
    )
    exposed = re.search(r"exposure level for \S+: ([\d.]+)", judged.stdout)
    assert exposed, judged.stderr
    if kind == "server":
        assert float(exposed[1]) <= MOST_EXPOSED, judged.stdout


@contextmanager
def confined(capabilities: str, command: list[str], home: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """`command` as systemd would start it: without new privileges, with these capabilities at most."""
    program = shutil.which("setpriv")
    if program is None or os.geteuid() != 0:
        pytest.skip("setpriv and root are needed")
    limits = [program, "--no-new-privs", f"--bounding-set={capabilities}", "--inh-caps=-all"]
    with log.open("wb") as output:
        process = subprocess.Popen([*limits, *command], env=environment(home), stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def test_a_server_runs_without_any_capability(tmp_path: Path) -> None:
    unit = install(tmp_path / "root", "server", "--port=0", "--content-port=0")
    log = tmp_path / "log"
    command = started_by(unit, tmp_path / "state")
    with confined("-all", command, tmp_path / "home", log) as process:
        wait_until(lambda: "Millpond is ready" in log.read_text() or process.poll(), what="the server")
        assert process.poll() is None, log.read_text()
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert re.search(r"^CapEff:\s+0+$", status, re.M) and re.search(r"^NoNewPrivs:\s+1$", status, re.M)
    assert (tmp_path / "state" / "admin-password").exists()


@pytest.mark.long
def test_an_agent_runs_jobs_as_other_users_with_the_capabilities_of_its_unit(tmp_path: Path) -> None:
    unit = install(tmp_path / "root", "agent")
    kept = ",".join(["-all", *(f"+{name.removeprefix('CAP_').lower()}" for name in AGENT_CAPABILITIES)])
    tmp_path.chmod(0o755)
    with mill_up(tmp_path / "data", "--no-agent") as mill, mill.client() as admin:
        assert admin.post("/sites", json={"name": "lab"}).status_code == 201
        token = tmp_path / "join-token"
        made = admin.post("/join-tokens", json={"site": "lab"})
        assert made.status_code == 201, made.text
        token.write_text(made.json()["secret"])
        token.chmod(0o600)
        state = tmp_path / "agent-state"
        extra = ["--server", mill.url, "--token-file", str(token), "--node", "lab1", "--job-uids", "71000-71999"]
        command = [*started_by(unit, state), *extra]
        with confined(kept, command, tmp_path / "home", tmp_path / "agent.log") as process:
            wait_until(lambda: admin.get("/computes").json()["items"] or process.poll(), what="the agent")
            assert process.poll() is None, (tmp_path / "agent.log").read_text()
            job = admin.post("/projects/default/jobs", json={"name": "who", "command": ["id", "-u"]}).json()["id"]
            place = f"/projects/default/jobs/{job}"
            wait_until(lambda: admin.get(place).json()["ended_at"], what="the job")
            assert admin.get(place).json()["state"] == "succeeded", (tmp_path / "agent.log").read_text()
            assert 71000 <= int(admin.get(f"{place}/log").text) <= 71999
        end_services(state.parent)
        end_mounts(state.parent)
