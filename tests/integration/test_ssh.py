"""OpenSSH's own client in a workspace and a job: commands, files, a fresh session, and who is not let in."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

pytestmark = [
    pytest.mark.xdist_group("ssh"),
    pytest.mark.skipif(
        shutil.which("ssh") is None or not Path("/usr/sbin/sshd").exists(),
        reason="OpenSSH is not installed (apt-get install openssh-client openssh-server)",
    ),
]


@dataclass(frozen=True)
class Ssh:
    """The real client with the configuration that Millpond wrote."""

    config: Path
    home: Path

    def __call__(self, *words: str, program: str = "ssh", options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        done = subprocess.run(
            [program, "-F", str(self.config), "-o", "BatchMode=yes", *options, *words], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=120, env=environment(self.home), check=False,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def mill(shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Mill:
    return Mill(shared_up, capfd, tmp_path)


@pytest.fixture
def ssh(shared_up: MillUp, tmp_path: Path) -> Ssh:
    return Ssh(tmp_path / "config", shared_up.home)


def test_a_workspace_is_a_host(mill: Mill, ssh: Ssh, tmp_path: Path) -> None:
    made = mill.ok("workspace", "create", "sh-notes", "--size", "10MB", "--json").json
    printed = mill.ok("ssh-config", "sh-notes", "--file", str(ssh.config)).out
    assert "Host mill-sh-notes\n" in printed and not ssh.config.exists()
    mill.ok("ssh-config", "--write", "sh-notes", "--file", str(ssh.config))
    try:
        # Nobody has it open: a session is begun.
        code, out, err = ssh("mill-sh-notes", 'echo "$MILL_WORKSPACE_SH_NOTES"; pwd; exit 7')
        assert (code, out.split()) == (7, [made["path"]] * 2), err
        file = tmp_path / "bytes"
        file.write_bytes(os.urandom(200_000))
        for how in (("-O",), ("-s",)):  # the old protocol, and SFTP
            code, _, err = ssh(str(file), f"mill-sh-notes:in{how[0]}", program="scp", options=("-q", *how))
            assert code == 0, err
            assert Path(made["path"], f"in{how[0]}").read_bytes() == file.read_bytes()
        code, _, err = ssh("other@mill-sh-notes", "true")
        assert code == 255 and "not as other" in err
        stranger = tmp_path / "stranger"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", stranger], check=True)
        forged = tmp_path / "forged"
        forged.write_text(f"mill-sh-notes {stranger.with_suffix('.pub').read_text()}")
        code, _, err = ssh("mill-sh-notes", "true", options=("-o", f"UserKnownHostsFile={forged}"))
        assert code == 255 and "Host key verification failed" in err
        session = mill.ok("workspace", "sessions", "sh-notes", "--json").json["items"][0]
        mill.ok("ssh-config", "--write", session["job"], "--file", str(ssh.config))
        code, out, err = ssh("mill-sh-notes-shell", "echo in the job")
        assert (code, out) == (0, "in the job\n"), err
    finally:
        for one in mill.ok("workspace", "sessions", "sh-notes", "--json").json["items"]:
            mill.ok("stop", one["job"])

    # While the job ends, its connection breaks off; once it has, ssh says that it no longer runs.
    def refusal() -> str:
        code, _, err = ssh("mill-sh-notes-shell", "true")
        assert code == 255, err
        return err

    wait_until(lambda: "only running jobs can be reached" in refusal(), within=60, what="the end of the job")
    mill.ok("ssh-config", "--remove", "sh-notes", "--file", str(ssh.config))
    assert "mill-sh-notes\n" not in ssh.config.read_text()
    assert "no entry" in mill("ssh-config", "--remove", "sh-notes", "--file", str(ssh.config)).err
    assert "No workspace or job 'absent'" in mill("ssh-config", "absent").err
