"""Slurm's own programs, called with formats that old and new versions share; what they print becomes values."""

from __future__ import annotations

import logging
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace

from millpond.agent.drivers import EngineAway
from millpond.errors import SetupError

_log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 60.0
# The accounting adds to what is known, and nothing may wait for it.
ACCOUNTING_SECONDS = 10.0
_NEEDED = ("sbatch", "squeue", "scancel", "scontrol", "sinfo")
# What scancel ends with, without a word, for a job that is ending or has ended: the last byte of ESLURM_ALREADY_DONE.
_ALREADY_DONE = 2021 & 0xFF
_JOBS = "%i|%j|%T|%r|%N"
_NODES = "%N|%P|%c|%m|%G|%f|%T|%u|%E"

# What the programs say when slurmctld, munge or the network is away; tried again later it may go.
_AWAY = re.compile(
    r"unable to contact slurm controller|connection refused|socket timed out|zero bytes were transmitted"
    r"|transport endpoint|connection timed out|connection reset|no route to host|standby mode|authentication error"
    r"|munge|temporarily unable|could not establish a configuration source|communication connection failure",
    re.IGNORECASE,
)
# The account has as many jobs as it may have: one of them ends, and the next may come. Which limit it is newer versions
# say in a line of its own; the sentence that names all of them at once counts only where that is missing.
_FULL = re.compile(
    r"(Max|Grp)Submit|MaxJobCount|\A(?!.*(Assoc|QOS)\w*Limit).*job submit limit", re.IGNORECASE | re.DOTALL
)

_WAITING = frozenset({"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"})
_ENDED = frozenset(
    {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY",
     "REVOKED"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job as Slurm sees it. While it is COMPLETING, processes of it may still be ending."""

    id: str
    name: str
    state: str
    reason: str = ""
    nodes: str = ""
    exit_code: int | None = None
    # Who cancelled it, where the accounting tells.
    cancelled_by: str = ""

    @property
    def is_waiting(self) -> bool:
        return self.state in _WAITING

    @property
    def has_ended(self) -> bool:
        return self.state in _ENDED


class _Refused(OSError):
    """What Slurm said, and what its program ended with."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Commands:
    """Every call raises EngineAway when Slurm does not answer, and OSError with Slurm's words when it refuses."""

    def check_installed(self) -> None:
        missing = [name for name in _NEEDED if shutil.which(name) is None]
        if missing:
            raise SetupError(
                f"Slurm's programs are not installed on this machine: {', '.join(missing)}.",
                hint="Run the agent on a login node of the cluster, with them on its PATH.",
            )

    def has_steps(self) -> bool:
        """Whether something can be run beside a job that runs: not without srun."""
        return shutil.which("srun") is not None

    def submit(self, script: str, arguments: Sequence[str]) -> str:
        """The id of the new job. When this raises EngineAway, Slurm may have taken the job nevertheless."""
        printed = _run("sbatch", "--parsable", *arguments, stdin=script, environment=little_environment())
        return printed.strip().splitlines()[-1].partition(";")[0]

    def jobs(self, name: str | None = None) -> list[SlurmJob]:
        """Jobs of this account that Slurm still knows, those that ended in the last minutes included."""
        which = (f"--name={name}",) if name else ()
        printed = _run("squeue", "-h", "-t", "all", "-u", str(os.getuid()), *which, "-o", _JOBS)
        return [job for line in printed.splitlines() if (job := _job(line)) is not None]

    def details(self, job: SlurmJob) -> SlurmJob:
        """The same with its exit code and who cancelled it, where Slurm has that."""
        try:
            printed = _run("scontrol", "show", "job", "-o", job.id)
        except EngineAway:
            raise
        except OSError:
            return job
        found = re.search(r"\bExitCode=(\d+):", printed)
        known = self.recorded([job.id]).get(job.name) if job.state == "CANCELLED" else None
        return replace(
            job, exit_code=int(found[1]) if found else None, cancelled_by=known.cancelled_by if known else ""
        )

    def recorded(self, job_ids: Sequence[str]) -> dict[str, SlurmJob]:
        """What the accounting knows of the end of jobs that slurmctld has forgotten, by their names.

        Nothing where there is none or it does not answer, nor of a job whose end it has not heard of yet. Ids begin
        again at one when slurmctld has lost its state, so that several jobs may have had the same.
        """
        fields = "JobID,JobName,State,NodeList,ExitCode"
        which = ("-X", "-D", "-j", ",".join(job_ids))
        try:
            printed = _run("sacct", "-n", "-P", *which, "-o", fields, seconds=ACCOUNTING_SECONDS)
        except OSError as error:
            _log.debug("slurm_accounting_silent why=%s", error)
            return {}
        found = (_recorded(line) for line in printed.splitlines())
        return {job.name: job for job in found if job is not None and job.has_ended}

    def cancel(self, job_id: str) -> None:
        """A job that has ended or is unknown is success."""
        _run_unless_gone("scancel", job_id)

    def signal(self, job_id: str, name: str) -> None:
        """Tell the batch script alone, which is the keeper."""
        _run_unless_gone("scancel", "--batch", f"--signal={name}", job_id)

    def nodes(self) -> list[str]:
        """A line for each node and partition; see `parse_nodes`."""
        return _run("sinfo", "-h", "-N", "-o", _NODES).splitlines()

    def addresses(self) -> dict[str, str]:
        """Where each node is reached: its address in the configuration of Slurm, or else its name."""
        pairs = (line.strip().partition("|") for line in _run("sinfo", "-h", "-N", "-o", "%N|%o").splitlines())
        return {name: address or name for name, _, address in pairs}

    def config(self) -> dict[str, str]:
        pairs = (line.partition("=") for line in _run("scontrol", "show", "config").splitlines())
        return {key.strip(): value.strip() for key, found, value in pairs if found}


def _run(
    *command: str, stdin: str = "", environment: dict[str, str] | None = None, seconds: float = TIMEOUT_SECONDS
) -> str:
    environment = _environment() if environment is None else environment
    try:
        done = subprocess.run(
            command, input=stdin, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise EngineAway(f"{command[0]} took longer than {seconds:.0f} s") from None
    if done.returncode == 0:
        return done.stdout
    message = _message(done.stderr) or f"{command[0]} exited with {done.returncode}"
    if _AWAY.search(done.stderr) or _FULL.search(done.stderr):
        raise EngineAway(message)
    raise _Refused(message, done.returncode)


def _run_unless_gone(*command: str) -> None:
    try:
        _run(*command)
    except _Refused as error:
        known = "nvalid job id" in str(error) or "already completing" in str(error)
        if not known and error.code != _ALREADY_DONE:
            raise


def _environment() -> dict[str, str]:
    """Without what people set to change how these programs print."""
    changing = ("SBATCH_", "SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_", "SLURM_TIME_FORMAT")
    return {key: value for key, value in os.environ.items() if not key.startswith(changing)}


def little_environment() -> dict[str, str]:
    """What a job gets from sbatch: nothing of the agent's own but what every shell expects. The job's own variables
    are in a file that only this account can read."""
    kept = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "SLURM_CONF")
    return {key: os.environ[key] for key in kept if key in os.environ}


def _message(printed: str) -> str:
    """`sbatch: error: Batch job submission failed: X` is X; what is said before explains it."""
    lines = [re.sub(r"^\w+: (error: |fatal: )?", "", line).strip() for line in printed.splitlines() if line.strip()]
    lines = [line.removeprefix("Batch job submission failed: ") for line in lines]
    return "; ".join(dict.fromkeys(lines))


def _job(line: str) -> SlurmJob | None:
    fields = line.split("|")
    if len(fields) != 5:
        return None  # a name with our separator in it is none of ours
    job_id, name, state, reason, nodes = fields
    return SlurmJob(job_id, name, state, "" if reason == "None" else reason, _nodes(nodes))


def _recorded(line: str) -> SlurmJob | None:
    fields = line.split("|")
    if len(fields) != 5:
        return None
    job_id, name, state, nodes, code = fields
    word, _, by = state.partition(" by ")
    exit_code = int(code.partition(":")[0])
    return SlurmJob(job_id, name, word.partition(" ")[0], "", _nodes(nodes), exit_code, _user(by))


def _user(uid: str) -> str:
    """`CANCELLED by 1000`: the user's name, if this machine knows it."""
    try:
        return pwd.getpwuid(int(uid)).pw_name
    except (KeyError, ValueError):
        return f"user {uid}" if uid else ""


def _nodes(written: str) -> str:
    return "" if written in ("None assigned", "(null)") else written
