"""A real SSH server on a free port of this machine, with keys of its own; for the user who runs the tests."""

from __future__ import annotations

import getpass
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from millpond.testing.daemons import free_port
from millpond.testing.waiting import wait_until

SSHD = Path("/usr/sbin/sshd")


@dataclass(frozen=True, slots=True)
class Sshd:
    port: int
    user: str
    identity: Path
    # Holds the server's own key; `unknown` knows nobody.
    known_hosts: Path
    unknown: Path
    log: Path


@contextmanager
def running_sshd(directory: Path, home: Path) -> Iterator[Sshd]:
    """Whoever signs in has `home` as $HOME, so that nothing is left in the real one."""
    for name in ("host", "user", "stranger"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)]
        subprocess.run(command, check=True, capture_output=True)
    (directory / "authorized").write_text(f'environment="HOME={home}" {(directory / "user.pub").read_text()}')
    port = free_port()
    config, log = directory / "sshd_config", directory / "sshd.log"
    config.write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {directory / 'host'}\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {directory / 'authorized'}\nPasswordAuthentication no\nStrictModes no\n"
        "PermitUserEnvironment yes\n"
    )
    known, unknown = directory / "known_hosts", directory / "unknown_hosts"
    known.write_text(f"[127.0.0.1]:{port} {(directory / 'host.pub').read_text()}")
    Path("/run/sshd").mkdir(exist_ok=True)  # where sshd leaves its privileges
    process = subprocess.Popen([str(SSHD), "-f", str(config), "-D", "-E", str(log)])
    try:
        wait_until(lambda: _answers(port), what="sshd")
        yield Sshd(port, getpass.getuser(), directory / "user", known, unknown, log)
    finally:
        process.terminate()
        process.wait(10)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
