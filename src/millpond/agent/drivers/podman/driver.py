"""The Podman driver: `podman run` is the command of the keeper, which stays outside the container.

So any image will do, with Python or without, and the keeper goes on when Podman does not. Jobs that name no image run
as the process driver runs them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from millpond.agent.drivers import (
    Capabilities,
    Exited,
    Lost,
    NotStarted,
    Pending,
    Reason,
    Running,
    Status,
    gangs,
    records,
)
from millpond.agent.drivers.choose import AgentMachine
from millpond.agent.drivers.podman import exec_command, memory
from millpond.agent.drivers.podman.arguments import (
    ENVIRONMENT,
    ContainerAccount,
    client_environment,
    container_name,
    environment_file,
    run_arguments,
)
from millpond.agent.drivers.podman.commands import Podman
from millpond.agent.drivers.podman.exit_codes import explained
from millpond.agent.drivers.podman.options import PodmanOptions
from millpond.agent.drivers.process import ProcessDriver
from millpond.agent.isolation.isolation import HOME, account_name, passwd_entry
from millpond.agent.prepare import WRITABLE
from millpond.agent.spec import Spec, read_spec, write_private
from millpond.model.quantity import format_bytes
from millpond.wire.observed import NodeFacts

log = logging.getLogger(__name__)

# What the keeper runs in place of the job's command.
LAUNCH = "launch.json"
LOOK_SECONDS = 1.0
_NOT_REACHED = (
    "Containers of this Podman have a network of their own, where nobody reaches them: start its agent with "
    "--option network=host."
)


class PodmanDriver:
    """See `Driver` for the contract."""

    def __init__(self, machine: AgentMachine, options: PodmanOptions, podman: Podman) -> None:
        self._machine, self._options, self._podman = machine, options, podman
        self._agent = hashlib.sha256(str(machine.state_dir).encode()).hexdigest()[:16]
        self._plain = ProcessDriver([machine.node], machine.isolation)
        # Starts keepers whose command is Podman, which needs to be who the agent is.
        self._keepers = ProcessDriver([machine.node])
        self._pulling: dict[Path, str] = {}
        # What only Podman knows, asked by the next look: whether memory ran out, and whether a container whose keeper
        # was killed is gone. None: not known yet.
        self._out_of_memory: dict[Path, bool | None] = {}
        self._removed: dict[Path, bool | None] = {}
        self._tidied = False

    @property
    def name(self) -> str:
        return "podman"

    @property
    def look_seconds(self) -> float:
        return LOOK_SECONDS

    def capabilities(self) -> Capabilities:
        plain, reached = self._plain.capabilities(), self._options.network == "host"
        # Ranks would each need a container of their own: none are started, and never outside of one. Processes of MPI
        # are all in one.
        found = replace(plain, containers=True, default_image=self._options.image, ports=reached, gangs=False)
        return found if reached else replace(found, services=False, routers=False, serving_problem=_NOT_REACHED)

    def nodes(self) -> Sequence[NodeFacts]:
        return self._plain.nodes()

    def look(self) -> None:
        """Costs nothing while nothing is asked."""
        if not self._tidied:
            self._remove_unknown()
            self._tidied = True
        for directory in [one for one, known in self._out_of_memory.items() if known is None]:
            full = memory.was_full(directory.name)
            self._out_of_memory[directory] = full or self._podman.ran_out_of_memory(container_name(directory.name))
        for directory in [one for one, gone in self._removed.items() if gone is None]:
            self._podman.remove(container_name(directory.name))
            self._removed[directory] = True

    def start(self, directory: Path) -> None:
        spec = read_spec(directory)
        if spec is None:
            raise OSError(f"{directory} has no job to start")
        if spec.image is None:
            self._plain.start(directory)
        elif spec.ranks:
            raise OSError("Podman cannot run distributed jobs in containers")
        elif records.owner(directory) is None and not self._is_stopped(directory):
            self._pull(directory, spec.image)
            self._launch(directory, gangs.whole(spec))
            self._keepers.start(directory)

    def status(self, directory: Path) -> Status:
        status = self._keepers.status(directory)
        if isinstance(status, NotStarted) and directory in self._pulling:
            return Pending(f"Pulling the image {self._pulling[directory]}")
        if not (directory / LAUNCH).exists():
            return status
        if isinstance(status, Exited):
            return self._ended(directory, status)
        if isinstance(status, Lost) and not self._removed.setdefault(directory, None):
            return Running(status.started_at)
        return status

    def stop(self, directory: Path) -> None:
        records.ask_to_stop(directory)

    def forget(self, directory: Path) -> None:
        if (directory / LAUNCH).exists():
            self._podman.remove(container_name(directory.name))
            memory.remove_group(directory.name)
        self._plain.forget(directory)
        for known in (self._out_of_memory, self._removed):
            known.pop(directory, None)

    def enter(self, directory: Path, command: Sequence[str], *, tty: bool, rank: int = 0) -> Sequence[str]:
        if not (directory / LAUNCH).exists():
            return self._plain.enter(directory, command, tty=tty, rank=rank)
        mark = secrets.token_hex(8)
        kind = ("--interactive", "--tty") if tty else ("--interactive",)
        client = [*self._podman.command, "exec", *kind, f"--env={exec_command.VARIABLE}={mark}"]
        words = [*client, container_name(directory.name), *command]
        return [sys.executable, "-I", "-S", exec_command.__file__, "tty" if tty else "pipes", mark, *words]

    def address(self, directory: Path, port: int) -> tuple[str, int]:
        return self._plain.address(directory, port)

    def _is_stopped(self, directory: Path) -> bool:
        """Stopped before it began: then no image needs to be pulled for it."""
        return (directory / records.STOP).exists() and records.give_up(directory)

    def _pull(self, directory: Path, image: str) -> None:
        self._pulling[directory] = image
        try:
            self._podman.ensure_image(image)
            records.note_image(directory, self._podman.digest(image))
        finally:
            del self._pulling[directory]

    def _launch(self, directory: Path, spec: Spec) -> None:
        """Write what the keeper is to run, and give the job's directories to whoever it runs as."""
        isolation = self._machine.isolation
        for name in WRITABLE:
            (directory / name).mkdir(exist_ok=True)
        uid, own = isolation.hand_over(directory, spec)
        groups = tuple(isolation.accounts.of(one) for one in spec.accounts) if isolation.accounts else ()
        entry = passwd_entry(spec, directory, uid) if uid is not None and self._podman.takes_names else None
        user = account_name(spec) if entry else None
        write_private(directory / ENVIRONMENT, environment_file(spec, directory / HOME, user))
        parent = memory.make_group(spec.placement, spec.asked.memory_bytes) if self._podman.makes_cgroups else None
        arguments = run_arguments(
            spec,
            own,
            ContainerAccount(uid, groups, entry),
            agent=self._agent,
            options=self._options,
            parent=parent,
            declared_gpus=self._machine.node.declared,
        )
        launch = {
            "command": [*self._podman.command, *arguments],
            "env": client_environment(spec),
            "image": None,
            "directory": str(directory),
            "client": True,
            "relays": False,
        }
        write_private(directory / LAUNCH, json.dumps(launch))

    def _ended(self, directory: Path, said: Exited) -> Status:
        spec = read_spec(directory)
        if spec is None:
            return said
        ended = explained(said, spec.command[0], directory / "log")
        if ended.reason is not None or ended.signal != signal.SIGKILL or not spec.asked.memory_bytes:
            return ended
        full = self._out_of_memory.setdefault(directory, None)
        if full is None:
            return Running(said.started_at)
        problem = f"Killed for exceeding its memory limit of {format_bytes(spec.asked.memory_bytes)}."
        return replace(ended, reason=Reason.OUT_OF_MEMORY, problem=problem) if full else ended

    def _remove_unknown(self) -> None:
        """Containers of placements that are no longer there: the agent ended between the two."""
        for name, directory in self._podman.containers(self._agent).items():
            if read_spec(directory) is None:
                log.warning("removing an unknown container: %s", name)
                self._podman.remove(name)
