"""What keeps a command within its bounds, and whether it was killed at the bound of its memory."""

from __future__ import annotations

import os
import signal

from .files import read_json

# Type checkers take this for typing.TYPE_CHECKING.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Confinement:
    """What `confinement.json` asks for; nothing where there is none."""

    def __init__(self) -> None:
        self.how = read_json("confinement.json")
        self.oom_kills = oom_kills()
        self.env: dict[str, str] = {}
        if self.how is not None:
            # Few keepers need it. Loaded before the command's process loses sight of it.
            from . import confine  # noqa: PLC0415

            self.confine = confine
            self.env = self.how["env"]

    def enter(self) -> None:
        if self.how is not None:
            self.confine.confine(self.how)

    def why_ended(self, code: int) -> dict[str, Any]:
        """What there is to say of a command that ended by itself with this code, or by the signal -code."""
        if self.how is not None and code != 0 and self.confine.ran_out_of_memory(self.how["cgroups"]):
            return {"reason": "out_of_memory", "problem": self.how["memory_problem"]}
        if code == -signal.SIGKILL and oom_kills() > self.oom_kills:
            return {"reason": "out_of_memory", "problem": "Killed for exceeding its memory limit."}
        return {}


def oom_kills() -> int:
    """How often the kernel has killed something in the memory group that an engine made for this job; 0 without one.

    Slurm itself says so of batch scripts alone, and only of those that do not survive it. Kubernetes may hear of it
    only when the container has ended, and then says nothing.
    """
    with open("/proc/self/cgroup") as file:
        groups = dict(line.strip().split(":", 2)[1:] for line in file)
    old, new = groups.get("memory"), groups.get("")
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        old = new = ""  # a container finds its own group where others find the first of all
    elif "SLURM_JOB_ID" not in os.environ:
        return 0
    for counts in (f"/sys/fs/cgroup/memory{old}/memory.oom_control", f"/sys/fs/cgroup{new}/memory.events"):
        try:
            with open(counts) as file:
                return int(dict(line.split() for line in file).get("oom_kill", 0))
        except OSError:
            continue
    return 0
