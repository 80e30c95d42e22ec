"""Podman's own program."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cached_property
from pathlib import Path

from millpond.agent.drivers import EngineAway
from millpond.agent.drivers.podman.options import PodmanOptions
from millpond.errors import SetupError

TIMEOUT_SECONDS = 60.0
PULL_SECONDS = 3600.0
# Labels by which an agent finds its containers again, and their placements' directories.
AGENT, PLACEMENT = "millpond.agent", "millpond.placement"

_SYSTEMD = Path("/run/systemd/system")


class Podman:
    """Every call raises EngineAway when Podman takes too long, and OSError with its words when it refuses."""

    def __init__(self, options: PodmanOptions) -> None:
        self._options = options
        # Without systemd there is nobody else to make control groups.
        manager = () if _SYSTEMD.exists() else ("--cgroup-manager=cgroupfs",)
        self.command = ("podman", *manager, *options.podman)

    @property
    def makes_cgroups(self) -> bool:
        """It makes control groups by itself, below whatever it is told to."""
        return "--cgroup-manager=cgroupfs" in self.command

    @cached_property
    def takes_names(self) -> bool:
        """It lets an account have a name in the container; before version 4.1 it made up one."""
        return "--passwd-entry" in self._run("run", "--help")

    def check(self) -> None:
        if shutil.which("podman") is None:
            raise SetupError(
                "Podman is not installed on this machine.",
                hint="Install it (apt-get install podman), or choose another --driver.",
            )
        try:
            self._run("info", "--format", "{{.Version.Version}}")
        except OSError as error:
            raise SetupError(f"Podman does not work here: {error}") from error

    def ensure_image(self, image: str) -> None:
        """Have the image here, pulled where the site wants that. OSError says what stands in the way."""
        if self._options.pull != "always" and self._has(image):
            return
        if self._options.pull == "never":
            raise OSError(
                f"the image {image} is not on this machine, and the agent does not pull images (--option pull=missing)"
            )
        try:
            self._run("pull", "--quiet", image, timeout=PULL_SECONDS)
        except EngineAway:
            raise
        except OSError as error:
            raise OSError(f"cannot pull the image {image}: {error}") from error

    def digest(self, image: str) -> str:
        """`sha256:…` of an image that is here; of one that came from no registry, its id."""
        found = self._run("image", "inspect", "--format", "{{.Digest}} {{.Id}}", image).split()
        named = next((word for word in found if word.startswith("sha256:")), None)
        return named or (f"sha256:{found[-1]}" if found else "")

    def ran_out_of_memory(self, name: str) -> bool:
        """What Podman saw of a container that has ended; False for one it does not know."""
        try:
            return self._run("inspect", "--format", "{{.State.OOMKilled}}", name).strip() == "true"
        except EngineAway:
            raise
        except OSError:
            return False

    def containers(self, agent: str) -> dict[str, Path]:
        """Names of all containers of this agent, running or not, with the directories of their placements."""
        form = f'{{{{.Names}}}}\t{{{{index .Labels "{PLACEMENT}"}}}}'
        lines = self._run("ps", "-a", "--filter", f"label={AGENT}={agent}", "--format", form).splitlines()
        return {name: Path(directory) for name, _, directory in (line.partition("\t") for line in lines)}

    def remove(self, name: str) -> None:
        """End it if it runs. One that does not exist is success."""
        arguments = ("rm", "--force", "--ignore", "--volumes", "--time", "0", name)
        try:
            self._run(*arguments)
        except EngineAway:
            raise
        except OSError:
            self._run(*arguments)  # it was killed from outside: Podman notes that first, and fails

    def _has(self, image: str) -> bool:
        try:
            self._run("image", "exists", image)
        except EngineAway:
            raise
        except OSError:
            return False
        return True

    def _run(self, *arguments: str, timeout: float = TIMEOUT_SECONDS) -> str:
        command = [*self.command, *arguments]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            raise EngineAway(f"podman {arguments[0]} took longer than {timeout:.0f} s") from None
        if done.returncode == 0:
            return done.stdout
        raise OSError(error_of(done.stderr) or f"podman {arguments[0]} exited with {done.returncode}")


def error_of(printed: str) -> str | None:
    """What Podman says at the end when it could not do something; None when that is not what stands there."""
    lines = printed.strip().splitlines()
    found = re.fullmatch(r"Error: (.*)", lines[-1]) if lines else None
    return found[1] if found else None
