"""What a site says of its Slurm: where jobs go, what runs before them, how often it is asked."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from millpond.agent.drivers.options import Options


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
    # The Python of the nodes that runs the keeper; 3.9 or newer.
    python: str | None = None
    look_seconds: float = Field(default=2.0, gt=0)
    # How long a file written on a node may take to be seen here.
    settle_seconds: float = Field(default=5.0, ge=0)
