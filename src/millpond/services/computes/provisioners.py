"""Provisioners: the administrator's own commands that create, list and delete machines (docs/elastic.md)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from millpond.errors import Invalid, MillError
from millpond.model.names import check_name
from millpond.services.admin_programs import run_program

COMMANDS = ("create", "observe", "delete")
# Of `observe` and `delete`; `create` has as long as a machine may take to start.
ANSWER_SECONDS = 120.0


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
        told = {**self._told, **told}
        return run_program(self._directory / command, told, seconds=seconds, failed=ProvisionerFailed)


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
