"""What a site says of its Podman."""

from __future__ import annotations

from typing import Literal

from millpond.agent.drivers.options import Options


class PodmanOptions(Options):
    """`--option KEY=VALUE` of `mill agent --driver podman`."""

    # For jobs that name none; without, they run as plain processes.
    image: str | None = None
    pull: Literal["missing", "always", "never"] = "missing"
    # Of its own network a container does not see a server that listens on this machine alone.
    network: str = "host"
    # The size of /dev/shm, through which processes of one job hand each other data.
    shm_size: str = "2g"
    # How GPUs are called in the machine's CDI files; a number is added.
    cdi: str = "nvidia.com/gpu"
    # Any other argument of podman, and of podman run; both may stand several times.
    podman: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
