"""What a site says of its Slurm: where jobs go, what runs before them, how often it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from millpond.agent.drivers.options import Options
from millpond.agent.drivers.slurm.nodes import PARTITION

# What a job may choose for itself, beside or in place of what the site has said; by which label nodes tell theirs.
JOB_OPTIONS = {"partition": PARTITION, "account": "", "constraint": "", "qos": "", "reservation": ""}


class SlurmOptions(Options):
    """`--option KEY=VALUE` of `mill agent --driver slurm`; None leaves it to Slurm's own default."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    reservation: str | None = None
    # What is asked for in place of `gpu`, like `gpu:a100`.
    gres: str = "gpu"
    # For jobs without a limit of their own, as Slurm writes it: `8:00:00`, `2-0`.
    time: str | None = None
    # Any other argument of sbatch; may stand several times.
    sbatch: tuple[str, ...] = ()
    # Lines of shell that run before the command, in its environment: first those of the file.
    init_file: Path | None = None
    init: tuple[str, ...] = ()
    # How MPI programs are started: by `srun --mpi=pmix` where that works and by mpirun elsewhere, or always by mpirun.
    mpi: Literal["auto", "mpirun"] = "auto"
    # The Python of the nodes that runs the keeper; 3.9 or newer.
    python: str | None = None
    look_seconds: float = Field(default=2.0, gt=0)
    # How long a file written on a node may take to be seen here.
    settle_seconds: float = Field(default=5.0, ge=0)

    def chosen_by(self, job: Mapping[str, str]) -> SlurmOptions:
        """With what a job asks for. OSError for what is not for jobs to choose."""
        unknown = sorted(job.keys() - JOB_OPTIONS.keys())
        if unknown:
            raise OSError(f"jobs cannot set the Slurm option {unknown[0]!r}")
        return self.model_copy(update=dict(job))
