"""A real Slurm on this machine, without services: munged, slurmctld and two slurmd under one directory."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from millpond.testing.daemons import end, free_port
from millpond.testing.slurm_accounting import Accounting, running_accounting
from millpond.testing.waiting import wait_until

MUNGED, CONTROLLER, NODE = (Path("/usr/sbin") / name for name in ("munged", "slurmctld", "slurmd"))
_CGROUPS = Path("/sys/fs/cgroup")
_NULL_DEVICE = os.makedev(1, 3)

_CONFIG = """\
ClusterName=mill
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CredType=cred/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool-%n
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd-%n.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd-%n.log
ProctrackType={proctrack}
TaskPlugin={task}
{accounting}\
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=50
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=50000,sched_interval=1,bf_interval=1
ReturnToService=2
MpiDefault=none
SwitchType=switch/none
GresTypes=gpu
KillWait=2
MessageTimeout=5
SlurmdTimeout=300
NodeName={gpu_node} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[0]} CPUs=4 RealMemory=4000 Gres=gpu:a100:2 \
Feature=fast
NodeName={plain_node} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4 RealMemory=4000 Feature=slow
PartitionName=main Nodes={gpu_node},{plain_node} Default=YES MaxTime=INFINITE State=UP
PartitionName=short Nodes={plain_node} MaxTime=5 State=UP
"""
_NO_ACCOUNTING = "JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n"


@dataclass
class Slurm:
    """`conf` is what SLURM_CONF must name. One node has two (pretended) GPUs, the other has none."""

    directory: Path
    gpu_node: str
    plain_node: str
    # Whether memory limits and process trees are kept by cgroups, as nearly every real cluster does.
    cgroups: bool
    accounting: Accounting | None = None
    _controller: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def conf(self) -> Path:
        return self.directory / "slurm.conf"

    def run(self, *command: str) -> str:
        """What a Slurm program prints."""
        environment = {**os.environ, "SLURM_CONF": str(self.conf)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    def why_no_pmix(self) -> str | None:
        """Why `srun --mpi=pmix` starts nothing here; None when it does."""
        try:
            self.run("srun", "--mpi=pmix", "--ntasks=1", "true")
        except subprocess.CalledProcessError as error:
            return f"Slurm has no PMIx (apt-get install libpmix-dev): {error.stderr.strip().splitlines()[0]}"
        return None

    def start_controller(self) -> None:
        self._controller = self.spawn(CONTROLLER)
        wait_until(lambda: self._idle_nodes() == 2, within=60, what="Slurm and its nodes")

    def stop_controller(self) -> None:
        """Jobs run on; whoever asks gets no answer."""
        if self._controller is not None:
            end(self._controller)
        self._controller = None

    def spawn(self, program: Path, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.directory / f"{program.name}.out", "ab") as output:
            command = [str(program), "-D", "-f", str(self.conf), *arguments]
            return subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)

    def _idle_nodes(self) -> int:
        try:
            states = self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%T").split()
        except subprocess.CalledProcessError:
            return 0
        return sum(state in ("idle", "mixed", "allocated") for state in states)


def why_no_slurm() -> str | None:
    """Why a Slurm cannot be started here; None when it can."""
    if not all(program.exists() for program in (MUNGED, CONTROLLER, NODE)):
        return "Slurm is not installed (apt-get install slurm-wlm munge)"
    return "Slurm is started by root alone" if os.geteuid() != 0 else None


@contextmanager
def running_slurm(*, accounting: bool = False) -> Iterator[Slurm]:
    """Not under pytest's directory, which is closed to other users: munged runs as one of its own."""
    directory = Path(tempfile.mkdtemp(prefix="millpond-slurm-"))
    directory.chmod(0o755)
    name = f"n{secrets.token_hex(3)}"  # cgroups carry the names of nodes, and belong to the whole machine
    slurm = Slurm(directory, f"{name}-1", f"{name}-2", cgroups=_has_cgroups())
    slurm.accounting = Accounting(directory) if accounting else None
    _write_config(slurm)
    (directory / "state").mkdir()
    with ExitStack() as parts:
        parts.callback(shutil.rmtree, directory)
        parts.callback(end, _start_munge(directory / "munge"))
        if slurm.accounting is not None:
            parts.enter_context(running_accounting(slurm.accounting))
        parts.callback(_remove_cgroups, (slurm.gpu_node, slurm.plain_node))
        for node in (slurm.gpu_node, slurm.plain_node):
            parts.callback(end, slurm.spawn(NODE, "-N", node))
        parts.callback(_end_controller, slurm)
        slurm.start_controller()
        yield slurm


def _end_controller(slurm: Slurm) -> None:
    """With all jobs."""
    if slurm._controller is not None:
        subprocess.run(["scancel", "-u", "root"], env={**os.environ, "SLURM_CONF": str(slurm.conf)}, check=False)
        wait_until(lambda: not slurm.run("squeue", "-h").strip(), within=60, what="the end of all Slurm jobs")
    slurm.stop_controller()


def _write_config(slurm: Slurm) -> None:
    directory = slurm.directory
    text = _CONFIG.format(
        host=socket.gethostname().split(".")[0],
        directory=directory,
        controller_port=free_port(),
        ports=[free_port(), free_port()],
        gpu_node=slurm.gpu_node,
        plain_node=slurm.plain_node,
        proctrack="proctrack/cgroup" if slurm.cgroups else "proctrack/pgid",
        task="task/cgroup" if slurm.cgroups else "task/none",
        accounting=slurm.accounting.lines if slurm.accounting is not None else _NO_ACCOUNTING,
    )
    slurm.conf.write_text(text)
    (directory / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainRAMSpace=yes\n")
    for index in (0, 1):
        os.mknod(directory / f"gpu{index}", 0o600 | stat.S_IFCHR, _NULL_DEVICE)
    gpus = f"NodeName={slurm.gpu_node} Name=gpu Type=a100 File={directory}/gpu[0-1]\n"
    (directory / "gres.conf").write_text(gpus)


def _start_munge(directory: Path) -> subprocess.Popen[bytes]:
    directory.mkdir(mode=0o755)
    key = directory / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    for path in (directory, key):
        shutil.chown(path, "munge", "munge")
    files = {"key-file": key.name, "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    options = [f"--{option}={directory / name}" for option, name in files.items()]
    with open(directory.parent / "munged.out", "wb") as output:
        command = ["runuser", "-u", "munge", "--", str(MUNGED), "--foreground", "--num-threads=2", *options]
        daemon = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    wait_until(lambda: (directory / "socket").exists(), within=60, what="munged")
    return daemon


def _has_cgroups() -> bool:
    """Both controllers that Slurm needs of the first version, mounted by themselves."""
    return all((_CGROUPS / name / "cgroup.procs").exists() for name in ("freezer", "memory"))


def _remove_cgroups(nodes: Sequence[str]) -> None:
    """Slurm leaves those of its nodes behind."""
    for node in nodes:
        for top in _CGROUPS.glob(f"*/slurm_{node}"):
            for path in sorted((path for path in (top, *top.rglob("*")) if path.is_dir()), reverse=True):
                path.rmdir()
