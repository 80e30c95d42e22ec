"""Whether the nodes see the agent's state directory: tried once, with a job that looks."""

from __future__ import annotations

import logging
import secrets
import shlex
import time
from pathlib import Path

from millpond.agent.drivers import EngineAway
from millpond.agent.drivers.slurm.commands import Commands
from millpond.agent.drivers.slurm.options import SlurmOptions
from millpond.agent.drivers.slurm.script import PREFIX
from millpond.errors import SetupError

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 20.0
_SHARED = "slurm-shared"


def check_sharing(state_dir: Path, commands: Commands, options: SlurmOptions) -> None:
    """SetupError when a node was seen not to share the directory. A cluster that is full or away is no reason not to
    start: then every job that finds no directory says so."""
    state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    if (state_dir / _SHARED).exists():
        return
    question = state_dir / f"{_SHARED}-{secrets.token_hex(4)}"
    question.touch()
    try:
        node = _ask(question, commands, options)
    except OSError as error:
        log.warning("cannot check that nodes share the state directory: %s", error)
        return
    finally:
        question.unlink(missing_ok=True)
    if node is not None:
        raise SetupError(
            f"The state directory {state_dir} is not visible on the Slurm node {node}.",
            hint="Set --state-dir to a directory on a file system that this machine and all nodes share.",
        )


def _ask(question: Path, commands: Commands, options: SlurmOptions) -> str | None:
    """The node that does not see it; None when one did. OSError when none could be asked in time."""
    shared = shlex.quote(str(question.with_name(_SHARED)))
    arguments = [f"--job-name={PREFIX}sharing", "--time=1", "--chdir=/", "--output=/dev/null", "--no-requeue"]
    chosen = {"partition": options.partition, "account": options.account, "qos": options.qos}
    arguments += [f"--{key}={value}" for key, value in chosen.items() if value]
    text = f"#!/bin/sh\ntest -e {shlex.quote(str(question))} && touch {shared}\n"
    job_id = commands.submit(text, [*arguments, *options.sbatch])
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        job = next((job for job in commands.jobs(f"{PREFIX}sharing") if job.id == job_id), None)
        if question.with_name(_SHARED).exists():
            return None
        if job is None or job.has_ended:
            time.sleep(options.settle_seconds)
            return None if question.with_name(_SHARED).exists() else (job.nodes if job else "") or "that was asked"
        time.sleep(0.2)
    commands.cancel(job_id)
    raise EngineAway("no node was free")
