"""Entries of Millpond in a person's configuration of ssh: added, replaced, removed; all else stays."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from millpond.client import ssh_config
from millpond.client.ssh_config import SshHost
from millpond.errors import BadRequest

OWN = "Host work\n    User ada\n\nHost *\n    User nobody\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILL_HOME", str(tmp_path / "mill home"))


def entry(name: str, user: str = "mill-default") -> tuple[str, str]:
    one = SshHost(f"workspace/{name}", name, "https://mill.example", "default", user)
    return one.host, ssh_config.entry(one, Path("/keys/my key%"))


def test_entries_come_and_go_and_the_rest_stays(tmp_path: Path) -> None:
    file = tmp_path / ".ssh" / "config"
    assert ssh_config.write_entries(file, [entry("notes"), entry("a")])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text(file.read_text() + OWN)
    assert ssh_config.write_entries(file, [entry("notes", "root")])
    text = file.read_text()
    assert text.startswith(ssh_config.BEGIN), "ahead of `Host *`, which would win"
    assert text.endswith(OWN)
    assert text.count("Host mill-notes\n") == 1
    assert "User root" in ssh_config.entries_in(text)["mill-notes"]
    assert not ssh_config.write_entries(file, [entry("notes", "root")]), "nothing to change"
    assert ssh_config.write_entries(file, [], removed=["mill-a"])
    assert list(ssh_config.entries_in(file.read_text())) == ["mill-notes"]
    assert ssh_config.write_entries(file, [], removed=["mill-notes"])
    assert file.read_text() == OWN


def test_a_linked_configuration_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles", tmp_path / "config"
    real.write_text(OWN)
    link.symlink_to(real)
    ssh_config.write_entries(link, [entry("notes")])
    assert link.is_symlink() and "mill-notes" in real.read_text()


def test_a_key_of_ones_own_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="no public key"):
        ssh_config.ensure_identity(tmp_path / "id")


@pytest.mark.skipif(
    shutil.which("ssh") is None, reason="OpenSSH's client is not installed (apt-get install openssh-client)"
)
def test_ssh_reads_it_as_it_is_meant(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(OWN)
    ssh_config.write_entries(file, [entry("notes")])
    said = subprocess.run(["ssh", "-F", file, "-G", "mill-notes"], capture_output=True, text=True, check=True).stdout
    told = dict(line.split(" ", 1) for line in said.splitlines() if " " in line)
    assert (told["user"], told["stricthostkeychecking"]) == ("mill-default", "true")
    assert told["userknownhostsfile"].endswith("mill home/ssh/known_hosts-mill-notes")
    assert "ssh-proxy workspace/notes --server https://mill.example" in told["proxycommand"]
    assert told["identityfile"] == "/keys/my key%"
