"""The Slurm driver: every job is a batch job whose process is the keeper, on the shared directory of its placement."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from millpond.agent import archives, mpi
from millpond.agent.drivers import Capabilities, NotStarted, Status, records
from millpond.agent.drivers.gangs import lay_out
from millpond.agent.drivers.slurm.commands import Commands, SlurmJob, little_environment
from millpond.agent.drivers.slurm.gang_script import gang_arguments, gang_script, write_tasks
from millpond.agent.drivers.slurm.nodes import PARTITION, default_partition, parse_nodes
from millpond.agent.drivers.slurm.options import JOB_OPTIONS, SlurmOptions
from millpond.agent.drivers.slurm.script import (
    EXPORTS,
    Files,
    arguments,
    becoming,
    excluded_nodes,
    exports,
    init_script,
    job_name,
    script,
    size_of,
)
from millpond.agent.drivers.slurm.status import WatchedJob, standing
from millpond.agent.drivers.slurm.tunnel import ProgramStream, step_arguments
from millpond.agent.isolation import Isolation
from millpond.agent.prepare import WRITABLE
from millpond.agent.spec import Spec, keeper_directory, rank_directories, read_spec, write_private
from millpond.wire.observed import NodeFacts

# The id of its job; what else there is to know of a placement is found by the job's name.
RECORD = "slurm.json"
# How long beyond its grace a job may take to end before Slurm is asked to kill it.
PATIENCE_SECONDS = 15.0
_NO_ROUTERS = "Slurm starts jobs on nodes of its own choice, where no client would find a router."


class SlurmDriver:
    """See `Driver` for the contract. `status` answers from files and from what the last look at Slurm has found."""

    def __init__(
        self,
        state_dir: Path,
        options: SlurmOptions,
        commands: Commands | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        self._options = options
        # Limits are Slurm's to keep, and what this machine has at /data a node may not have.
        self._isolation = replace(isolation or Isolation(), limits=None, limits_processes=False, shows_data=False)
        self._commands = commands or Commands()
        self._files = _lay_out(state_dir, options)
        self._config: dict[str, str] = {}
        self._nodes: list[NodeFacts] = []
        self._default: str | None = None
        self._addresses: dict[str, str] = {}
        self._watched: dict[str, WatchedJob] = {}
        # Between the agent's loop, which asks for `status`, and the threads that speak with Slurm.
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return "slurm"

    @property
    def look_seconds(self) -> float:
        return self._options.look_seconds

    def capabilities(self) -> Capabilities:
        enforced = "cgroup" in self._config.get("TaskPlugin", "")
        shared = self._isolation.accounts is None
        reached = self._commands.has_steps()
        return Capabilities(
            gangs=True,
            mpi=True,
            services=True,
            serving_problem=_NO_ROUTERS,
            limits_enforced=enforced,
            gpu_fractions="none",
            shared_trust=shared,
            queues=True,
            exec=reached,
            ports=reached,
            job_options=JOB_OPTIONS,
        )

    def nodes(self) -> Sequence[NodeFacts]:
        return self._nodes

    def look(self) -> None:
        began = time.monotonic()
        if not self._config:
            self._config = self._commands.config()
        lines = self._commands.nodes()
        self._nodes, self._default = parse_nodes(lines, self._options.partition), default_partition(lines)
        if {node.name for node in self._nodes} - self._addresses.keys():
            self._addresses = self._commands.addresses()
        found = {job.name: job for job in self._commands.jobs()}
        with self._lock:
            watched = dict(self._watched)
        found |= self._forgotten({name: one for name, one in watched.items() if name not in found})
        for name, one in watched.items():
            one.take(self._complete(one, found.get(name)), began)
            if one.is_overdue(time.monotonic()):
                self._commands.cancel(one.job_id)

    def start(self, directory: Path) -> None:
        if records.exited(directory) is not None:
            return
        if (directory / records.STOP).exists() and records.give_up(directory):
            return
        name = job_name(directory.name)
        known = self._commands.jobs(name)
        if known:
            job_id = known[-1].id
        elif records.owner(directory) is not None:
            job_id = ""  # it began, and Slurm has forgotten it
        else:
            job_id = self._submit(directory)
        write_private(directory / RECORD, json.dumps({"job": job_id}))
        self._watch(directory)

    def status(self, directory: Path) -> Status:
        watched = self._watch(directory)
        if watched is None:
            return records.exited(directory) or NotStarted()
        return standing(directory, watched, time.monotonic(), self._options.settle_seconds)

    def stop(self, directory: Path) -> None:
        records.ask_to_stop(directory)
        if not directory.is_dir() or records.exited(directory) is not None:
            return
        living = [job for job in self._commands.jobs(job_name(directory.name)) if not job.has_ended]
        for job in living:
            if job.is_waiting:
                self._commands.cancel(job.id)
            elif not rank_directories(directory):
                # The file may take a while to be seen on the node; a signal does not. Keepers of ranks, which a signal
                # could not reach without reaching what they run, look for it more closely.
                self._commands.signal(job.id, "TERM")
        if not living:
            records.give_up(directory)
        watched, spec = self._watch(directory), read_spec(directory)
        if watched is not None and spec is not None:
            watched.kill_at = time.monotonic() + spec.grace_seconds + PATIENCE_SECONDS

    def forget(self, directory: Path) -> None:
        """Slurm forgets its jobs by itself."""
        with self._lock:
            self._watched.pop(job_name(directory.name), None)

    def serving_host(self, directory: Path) -> str | None:
        """The address of the node, once Slurm has told where the job is."""
        watched = self._watch(directory)
        node = watched.job.nodes if watched is not None and watched.job is not None else ""
        return self._addresses.get(node, node) or None

    async def far_end(self, directory: Path, rank: int = 0) -> ProgramStream:
        """A step of the job, on the node where its keeper is; Slurm ends it with the job."""
        watched = self._watch(directory)
        if watched is None or not watched.job_id:
            raise OSError("Slurm does not know the job.")
        place = keeper_directory(directory.absolute(), rank)
        node = (records.owner(place) or {}).get("node")
        arguments = step_arguments(watched.job_id, self._config.get("SLURM_VERSION", ""), node)
        lines = becoming(self._files.far, place, self._options.python or sys.executable)
        return await ProgramStream.open(["srun", *arguments, "sh", "-c", lines], little_environment())

    def _submit(self, directory: Path) -> str:
        spec = read_spec(directory)
        if spec is None:
            raise OSError(f"{directory} has no job to start")
        options = self._chosen(spec)
        for name in WRITABLE:
            (directory / name).mkdir(exist_ok=True)
        if self._isolation.accounts is not None:
            self._isolation.prepare(directory, spec)
        python = self._options.python or sys.executable
        if spec.ranks:
            # Which GPUs a task has is Slurm's to say.
            write_tasks(lay_out(directory, spec, owns_gpus=False), self._files, python)
            text, size = gang_script(directory.absolute(), spec), gang_arguments(spec, options)
        else:
            is_mpi = mpi.is_mpi(spec.asked)
            told = replace(spec, env={**spec.env, mpi.HOW: self._options.mpi}) if is_mpi else spec
            write_private(directory / EXPORTS, exports(told))
            text = script(directory.absolute(), self._files, python)
            # Slurm starts nothing on other nodes for an account that is not the agent's.
            one_node = self._isolation.accounts is not None
            size = gang_arguments(spec, options, one_node=one_node) if is_mpi else size_of(spec, options)
        return self._commands.submit(text, arguments(spec, options, size, excluded_nodes(spec, self._nodes)))

    def _chosen(self, spec: Spec) -> SlurmOptions:
        """What the job asks for. One that names no partition goes to those of the node that the server has chosen, if
        the default one has no such node: it may be the only one with GPUs."""
        options = self._options.chosen_by(spec.asked.options)
        node = spec.ranks[0].node if spec.ranks else spec.node
        there = next((one.labels[PARTITION] for one in self._nodes if one.name == node), "")
        if options.partition or not there or self._default in there.split(","):
            return options
        return options.model_copy(update={"partition": there})

    def _watch(self, directory: Path) -> WatchedJob | None:
        """What is known of a placement that was given to Slurm, by this agent or by one before it."""
        name = job_name(directory.name)
        with self._lock:
            if name not in self._watched:
                try:
                    record = json.loads((directory / RECORD).read_bytes())
                except FileNotFoundError:
                    return None
                self._watched[name] = WatchedJob(record["job"], since=time.monotonic())
            return self._watched[name]

    def _forgotten(self, watched: Mapping[str, WatchedJob]) -> dict[str, SlurmJob]:
        """What the accounting tells of jobs that slurmctld no longer knows, asked until it knows their ends."""
        ids = [one.job_id for one in watched.values() if one.job_id and (one.job is None or not one.job.has_ended)]
        return self._commands.recorded(ids) if ids else {}

    def _complete(self, watched: WatchedJob, job: SlurmJob | None) -> SlurmJob | None:
        """What more can be known of a job that has ended, asked once."""
        if watched.job is not None and watched.job.has_ended:
            return watched.job
        if job is None or not job.has_ended or job.exit_code is not None:
            return job
        return self._commands.details(job)


def _lay_out(state_dir: Path, options: SlurmOptions) -> Files:
    """Put what nodes need onto the shared file system. The folder's name is its content's: a newer Millpond changes
    nothing under a job that is about to begin."""
    lines = init_script(options)
    contents = {**archives.archives(), **({"init.sh": lines.encode()} if lines is not None else {})}
    digest = hashlib.sha256(b"".join(contents.values())).hexdigest()[:12]
    folder = state_dir.absolute() / f"keeper-{digest}"
    folder.mkdir(exist_ok=True)
    archives.write_once(folder, contents)
    init = folder / "init.sh" if lines is not None else None
    return Files(folder / archives.KEEPER, folder / archives.FAR, init)
