"""The accounting of a real Slurm, without services: a MariaDB on a socket of its own and the slurmdbd before it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from millpond.testing.daemons import end, free_port
from millpond.testing.waiting import wait_until

DATABASE, INSTALLER = Path("/usr/sbin/mariadbd"), Path("/usr/bin/mariadb-install-db")
DAEMON = Path("/usr/sbin/slurmdbd")
CLUSTER, ACCOUNT = "mill", "hall"

_CONFIG = """\
DbdHost=localhost
DbdPort={port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
PidFile={directory}/slurmdbd.pid
LogFile={directory}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=accounting
"""
# For slurm.conf. slurmctld forgets at once what has ended, so that only the accounting can tell of it.
_CONTROLLER = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
AccountingStoragePass=socket={directory}/munge/socket
AccountingStorageEnforce=associations,limits,qos
JobAcctGatherType=jobacct_gather/linux
MinJobAge=2
"""


def why_no_accounting() -> str | None:
    """Why the accounting of a Slurm cannot be started here; None when it can."""
    if all(program.exists() for program in (DATABASE, INSTALLER, DAEMON)):
        return None
    return "Slurm's accounting is not installed (apt-get install slurmdbd mariadb-server-core mariadb-client-core)"


@dataclass
class Accounting:
    """Files are in Slurm's own directory; `lines` belong into slurm.conf."""

    directory: Path
    port: int = field(default_factory=free_port)
    _daemon: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def lines(self) -> str:
        return _CONTROLLER.format(port=self.port, directory=self.directory)

    def manage(self, *command: str) -> None:
        """Change associations and limits, as an administrator does."""
        environment = self._environment()
        done = subprocess.run(
            ["sacctmgr", "-i", *command], env=environment, capture_output=True, text=True, check=False
        )
        # What is there already is as good.
        if done.returncode != 0 and "Nothing new added" not in done.stdout:
            raise AssertionError(f"sacctmgr {' '.join(command)}: {done.stdout}{done.stderr}")

    def start(self) -> None:
        """Start slurmdbd; returns when it answers."""
        self._daemon = _spawn([str(DAEMON), "-D"], self.directory / "slurmdbd.out", self._environment())
        wait_until(self._answers, within=60, what="slurmdbd")

    def stop(self) -> None:
        """slurmctld goes on, and keeps for later what it has to tell."""
        if self._daemon is not None:
            end(self._daemon)
        self._daemon = None

    def _answers(self) -> bool:
        command = ["sacctmgr", "-n", "show", "cluster"]
        done = subprocess.run(command, env=self._environment(), capture_output=True, check=False, timeout=60)
        return done.returncode == 0

    def _environment(self) -> dict[str, str]:
        # It has no setting for the database's socket; the library it is built on takes that from here.
        socket = {"MYSQL_UNIX_PORT": str(self.directory / "database.sock")}
        return {**os.environ, "SLURM_CONF": str(self.directory / "slurm.conf"), **socket}


@contextmanager
def running_accounting(accounting: Accounting) -> Iterator[None]:
    """Expects slurm.conf and munged; slurmctld is to be started after it, when its cluster is known already."""
    config = accounting.directory / "slurmdbd.conf"
    config.touch(mode=0o600)  # it refuses one that others may read
    config.write_text(_CONFIG.format(port=accounting.port, directory=accounting.directory))
    database = _start_database(accounting.directory)
    try:
        accounting.start()
        accounting.manage("add", "cluster", CLUSTER)
        accounting.manage("add", "account", ACCOUNT)
        accounting.manage("add", "user", "root", f"account={ACCOUNT}")
        yield
    finally:
        accounting.stop()
        end(database)


def _start_database(directory: Path) -> subprocess.Popen[bytes]:
    data, socket = directory / "database", directory / "database.sock"
    # Whoever is root on the machine is root there, and nobody else is anybody.
    options = ["--no-defaults", f"--datadir={data}", "--user=root"]
    install = [str(INSTALLER), *options, "--auth-root-authentication-method=socket", "--skip-test-db"]
    subprocess.run(install, capture_output=True, check=True)
    # Tests need no power cuts here, and little memory.
    small = ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"]
    command = [str(DATABASE), *options, *small, "--skip-networking", f"--socket={socket}"]
    process = _spawn(command, directory / "database.out", dict(os.environ))
    wait_until(socket.exists, within=60, what="the database of Slurm's accounting")
    return process


def _spawn(command: Sequence[str], output: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with open(output, "ab") as file:
        return subprocess.Popen(command, stdout=file, stderr=file, env=environment, start_new_session=True)
