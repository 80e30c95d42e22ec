"""What is given to sbatch for a placement: its arguments, and a script that becomes the keeper."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.agent.drivers.slurm.options import SlurmOptions
from millpond.agent.spec import Spec
from millpond.decide.gpu_types import suits
from millpond.wire.observed import NodeFacts

PREFIX = "mill-"
# Written by the driver for the script, and by the script for the keeper.
EXPORTS = "exports"
ENVIRONMENT = "environment"

# Exit codes of the script before there is a keeper.
NOT_SHARED = 75
INIT_FAILED = 76
NO_PYTHON = 77

# Which GPUs a job has is Slurm's to say.
_SLURMS_OWN = ("CUDA_VISIBLE_DEVICES",)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Files:
    """What the script finds on the shared file system; `init` holds the site's lines, if it has any."""

    keeper: Path
    far: Path
    init: Path | None = None


def job_name(placement: str) -> str:
    """Carries the placement, so that it is found again by an agent that has forgotten it."""
    return f"{PREFIX}{placement}"


def excluded_nodes(spec: Spec, nodes: Sequence[NodeFacts]) -> list[str]:
    """The nodes without the GPU type, GPU memory or labels that the job asks for. Among the others, Slurm chooses."""
    return [
        node.name
        for node in nodes
        if not suits(
            spec.asked, gpu_model=node.gpu_model, gpu_memory_bytes=node.gpu_memory_bytes, labels=node.labels
        )
    ]  # fmt: skip


def arguments(
    spec: Spec, options: SlurmOptions, size: Sequence[str], excluded: Sequence[str] = ()
) -> list[str]:  # fmt: skip
    """Of sbatch, with what the job was promised; `size` is how much of the cluster."""
    asked = {
        "job-name": job_name(spec.placement),
        "time": str(_minutes(spec)) if spec.asked.timeout_seconds else options.time,
        "partition": options.partition,
        "account": options.account,
        "qos": options.qos,
        "constraint": options.constraint,
        "reservation": options.reservation,
        "exclude": ",".join(sorted(excluded)),
    }
    # Requeued by Slurm, it would find its placement claimed. The script itself opens its log: where that is not to be
    # had, the job must still be able to say so by its exit code.
    fixed = ["--no-requeue", "--export=ALL", "--chdir=/", "--output=/dev/null"]
    return [*size, *fixed, *(f"--{key}={value}" for key, value in asked.items() if value), *options.sbatch]


def size_of(spec: Spec, options: SlurmOptions) -> list[str]:
    """How much of the cluster a plain job gets: one task on one node. Raises OSError for what Slurm cannot give."""
    if spec.asked.gpu_hundredths % 100:
        raise OSError("Slurm supports whole GPUs only")
    gpus = spec.asked.gpu_hundredths // 100
    asked = {
        "cpus-per-task": str(spec.asked.cpu) if spec.asked.cpu else None,
        "mem": f"{math.ceil(spec.asked.memory_bytes / _MEBIBYTE)}M" if spec.asked.memory_bytes else None,
        "gres": f"{options.gres}:{gpus}" if gpus else None,
    }
    return ["--nodes=1", "--ntasks=1", *(f"--{key}={value}" for key, value in asked.items() if value)]


def script(directory: Path, files: Files, python: str) -> str:
    """Runs on the node: takes the job's variables, runs the site's lines, leaves the result to the keeper.

    No secret is in it: Slurm keeps scripts, and shows them.
    """
    place, init = shlex.quote(str(directory)), ""
    if files.init is not None:
        init = f'. {shlex.quote(str(files.init))} || {{ echo "An init line failed."; exit {INIT_FAILED}; }}\n'
    return f"""#!/bin/bash
cd {place} 2>/dev/null && test -e spec.json || exit {NOT_SHARED}
exec </dev/null >>keeper.log 2>&1
export CUDA_VISIBLE_DEVICES="${{CUDA_VISIBLE_DEVICES-}}"
. ./{EXPORTS}
{init}cd {place}
env -0 > {ENVIRONMENT}.new && mv {ENVIRONMENT}.new {ENVIRONMENT}
unset MILL_PLACEMENT MILL_TOKEN
{becoming(files.keeper, directory, python)}
"""


def becoming(program: Path, directory: Path, python: str) -> str:
    """Lines of shell that become a program of Millpond's for a placement, with a Python that can run it."""
    return f"""\
for python in {shlex.quote(python)} python3; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    exec "$python" -I -S {shlex.quote(str(program))} {shlex.quote(str(directory))}
  fi
done
echo "No Python 3.9 or newer found on $(hostname)." >&2
exit {NO_PYTHON}"""


def exports(spec: Spec) -> str:
    """The job's variables as lines of shell. Names that no shell takes reach the command through its spec."""
    lines = [
        f"export {name}={shlex.quote(value)}"
        for name, value in sorted(spec.env.items())
        if _NAME.fullmatch(name) and name not in _SLURMS_OWN
    ]
    return "\n".join([*lines, ""])


def init_script(options: SlurmOptions) -> str | None:
    """The site's lines as one file: a line of `init` that fails ends the job before it begins. OSError when the file
    cannot be read."""
    parts = [options.init_file.read_text()] if options.init_file else []
    parts += [f"{line} || return 1" for line in options.init]
    return "\n".join([*parts, "true", ""]) if parts else None


def why_not_begun(exit_code: int | None, node: str, directory: Path, last_line: str) -> str | None:
    """What the script's exit code means; None when it is none of the script's own."""
    where = node or "the node"
    said = f" Its last line: {last_line}" if last_line else ""
    if exit_code == NOT_SHARED:
        return (
            f"The agent's directory {directory} is not visible on {where}. "
            "Start the agent with a --state-dir on a file system that all nodes share."
        )
    if exit_code == INIT_FAILED:
        return f"An init line of the site failed on {where}.{said}"
    if exit_code == NO_PYTHON:
        return f"No Python 3.9 or newer found on {where}. Set one with --option python=PATH."
    return f"The job ended on {where} before its command started.{said}" if exit_code or said else None


def _minutes(spec: Spec) -> int:
    """The keeper keeps the limit; Slurm's own stands a little behind it, should the keeper be gone."""
    return math.ceil((spec.asked.timeout_seconds + spec.grace_seconds) / 60) + 1
