"""Provisioners: the administrator's own commands that create, list and delete machines (docs/elastic.md)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from millpond.errors import Invalid, MillError
from millpond.model.names import check_name
from millpond.trust import CA_FILE

COMMANDS = ("create", "observe", "delete")
# Of `observe` and `delete`; `create` has as long as a machine may take to start.
ANSWER_SECONDS = 120.0
_TOLD_BYTES = 4_000_000
_SAID = 500


class ProvisionerFailed(MillError):
    """A command of a provisioner failed, or answered what nobody understands."""

    code = "provisioner_failed"


@dataclass(frozen=True, slots=True)
class NewMachine:
    """What `create` is told. `name` is unique for ever: the machine must carry it, so that it is found again."""

    name: str
    server: str
    join_token: str
    site: str
    driver: str
    cpus: int
    memory_bytes: int
    gpus: int
    gpu_type: str
    gpu_memory_bytes: int
    labels: Mapping[str, str]
    # Seconds after which it is given up.
    start_seconds: float


class Provisioner(Protocol):
    """Every method raises ProvisionerFailed, may take long, and may be called again at any time."""

    def create(self, machine: NewMachine) -> None:
        """Create the machine, or begin to: its agent joins with the token. Nothing is concluded from success."""
        ...

    def observe(self) -> Sequence[str]:
        """The names of all machines of this elastic compute that exist, also those that start or end."""
        ...

    def delete(self, name: str) -> None:
        """Delete the machine, or begin to. One that does not exist is a success."""
        ...


class CommandProvisioner:
    """Three programs in a directory. They are told by environment variables and answer on stdout, in JSON.

    `owner` tells the machines of this installation and elastic compute from all others.
    """

    def __init__(self, directory: Path, *, owner: str, elastic: str, options: Mapping[str, str]) -> None:
        self._directory = directory
        self._told = {
            "MILL_OWNER": owner,
            "MILL_ELASTIC": elastic,
            **{f"MILL_OPTION_{key.upper().replace('-', '_')}": value for key, value in options.items()},
        }

    def create(self, machine: NewMachine) -> None:
        told = {
            "MILL_NODE": machine.name,
            "MILL_SERVER": machine.server,
            "MILL_JOIN_TOKEN": machine.join_token,
            "MILL_SITE": machine.site,
            "MILL_DRIVER": machine.driver,
            "MILL_CPUS": str(machine.cpus),
            "MILL_MEMORY_BYTES": str(machine.memory_bytes),
            "MILL_GPUS": str(machine.gpus),
            "MILL_GPU_TYPE": machine.gpu_type,
            "MILL_GPU_MEMORY_BYTES": str(machine.gpu_memory_bytes),
            "MILL_LABELS": ",".join(f"{key}={value}" for key, value in sorted(machine.labels.items())),
        }
        self._run("create", told, seconds=machine.start_seconds)

    def observe(self) -> Sequence[str]:
        answer = self._run("observe", {}, seconds=ANSWER_SECONDS)
        try:
            found = json.loads(answer)["nodes"]
            return [str(one["name"]) for one in found]
        except (ValueError, KeyError, TypeError) as error:
            raise ProvisionerFailed(
                f"`observe` answered {answer[:80]!r}.", hint='It must print JSON like {"nodes": [{"name": "NAME"}]}.'
            ) from error

    def delete(self, name: str) -> None:
        self._run("delete", {"MILL_NODE": name}, seconds=ANSWER_SECONDS)

    def _run(self, command: str, told: Mapping[str, str], *, seconds: float) -> str:
        """What the command printed. Whatever it started is killed with it when its time is over."""
        env = {key: value for key, value in os.environ.items() if not key.startswith("MILL_") or key == CA_FILE}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            try:
                process = subprocess.Popen(
                    [str(self._directory / command)], env={**env, **self._told, **told}, cwd=self._directory,
                    stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise ProvisionerFailed(f"`{command}` cannot be run: {error.strerror}.") from error
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired as error:
                raise ProvisionerFailed(f"`{command}` took longer than {seconds:.0f} s.") from error
            finally:
                _kill_group(process)
            if code:
                raise ProvisionerFailed(f"`{command}` failed with exit code {code}: {_last_line(errors)}")
            out.seek(0)
            return out.read(_TOLD_BYTES).decode(errors="replace")


def open_provisioner(
    directory: Path, name: str, *, owner: str, elastic: str, options: Mapping[str, str]
) -> CommandProvisioner:
    """The provisioner of that name. Invalid if its commands are not there."""
    check_name(name, "provisioner")
    missing = [command for command in COMMANDS if not os.access(directory / name / command, os.X_OK)]
    if missing:
        raise Invalid(
            f"Provisioner {name!r} has no executable `{missing[0]}` in {directory / name} on the server.",
            hint="Copy one of deploy/provisioners there, or write its three commands: docs/elastic.md",
            fields=["provisioner"],
        )
    return CommandProvisioner(directory / name, owner=owner, elastic=elastic, options=options)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a command that took too long. A machine that it started as a daemon is not among them."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last_line(file: Any) -> str:
    file.seek(0)
    lines = file.read(_TOLD_BYTES).decode(errors="replace").strip().splitlines()
    return lines[-1][:_SAID] if lines else "no message"
