"""A distributed job on Slurm: one batch job with a task for each rank, started together by srun."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

from millpond.agent.drivers.slurm.options import SlurmOptions
from millpond.agent.drivers.slurm.script import EXPORTS, NOT_SHARED, Files, exports, script
from millpond.agent.spec import Spec, read_spec, write_private

# Becomes the keeper of one rank; in its directory.
TASK = "task.sh"
_MEBIBYTE = 1 << 20


def gang_arguments(spec: Spec, options: SlurmOptions, *, one_node: bool = False) -> list[str]:
    """Of sbatch, in place of those of a plain job: what each task gets, on as many nodes as Slurm needs for them."""
    gpus = spec.asked.gpu_hundredths // 100
    kind = options.gres.partition(":")[2]
    memory = math.ceil(spec.asked.memory_bytes / max(1, spec.asked.cpu) / _MEBIBYTE)
    asked = {
        "nodes": "1" if one_node else None,
        "ntasks": str(len(spec.ranks) or spec.asked.processes),
        "cpus-per-task": str(spec.asked.cpu) if spec.asked.cpu else None,
        "mem-per-cpu": f"{memory}M" if memory else None,
        "gpus-per-task": ":".join(filter(None, (kind, str(gpus)))) if gpus else None,
    }
    return [f"--{key}={value}" for key, value in asked.items() if value]


def write_tasks(ranks: Sequence[Path], files: Files, python: str) -> None:
    """What srun runs for each rank, with its variables."""
    for directory in ranks:
        spec = read_spec(directory)
        if spec is not None:
            write_private(directory / EXPORTS, exports(spec))
            write_private(directory / TASK, script(directory.absolute(), files, python))


def gang_script(directory: Path, spec: Spec) -> str:
    """The batch script. A keeper ends its rank by itself and leaves with 0: a task that ends otherwise was killed or
    could not begin, and then Slurm ends the others."""
    cpus = (
        f" --cpus-per-task={spec.asked.cpu}" if spec.asked.cpu else ""
    )  # newer versions do not take it over from sbatch
    return f"""#!/bin/bash
cd {shlex.quote(str(directory))} 2>/dev/null && test -e spec.json || exit {NOT_SHARED}
exec </dev/null >>keeper.log 2>&1
exec srun --ntasks={len(spec.ranks)}{cpus} --kill-on-bad-exit=1 --mpi=none --export=ALL \\
  bash -c 'exec bash "ranks/$SLURM_PROCID/{TASK}"'
"""
