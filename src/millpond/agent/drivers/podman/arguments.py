"""How a placement becomes `podman run`: its arguments, and the variables of the container."""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from millpond.agent.drivers.podman.commands import AGENT, PLACEMENT
from millpond.agent.drivers.podman.options import PodmanOptions
from millpond.agent.spec import Spec

ENVIRONMENT = "container.env"

_CDI = (Path("/etc/cdi"), Path("/var/run/cdi"))
# The first process of a container ignores signals that it does not handle; one of these in front passes them on.
_INITS = ("catatonit", "tini", "docker-init")
_INIT_PLACES = "/usr/libexec/podman:/usr/libexec/catatonit:/usr/lib/podman:/usr/local/libexec/podman"
_CAP_SYS_RESOURCE = 1 << 24


@dataclass(frozen=True, slots=True)
class ContainerAccount:
    """Who the job is: `uid` None for the agent's own account; `groups` may read its inputs; `entry` is its line in the
    container's /etc/passwd, where Podman takes one."""

    uid: int | None = None
    groups: tuple[int, ...] = ()
    entry: str | None = None


def container_name(placement: str) -> str:
    """Carries the placement, so that it is found again by an agent that has forgotten it."""
    return f"mill-{placement}"


def run_arguments(
    spec: Spec,
    own: Sequence[Path],
    account: ContainerAccount,
    *,
    agent: str,
    options: PodmanOptions,
    parent: str | None,
    declared_gpus: bool,
) -> list[str]:
    """Of podman. `own` are the directories that the job may write to: they have the same paths inside. `parent` is
    the control group that limits it; without one Podman does. OSError for what this machine cannot give."""
    binds = [f"type=bind,src={path},dst={path}" for path in own]
    binds += [f"type=bind,src={mount.source},dst={mount.target},ro=true" for mount in spec.inputs]
    binds += [
        f"type=bind,src={mount.source},dst={mount.target}{'' if mount.writable else ',ro=true'}"
        for mount in spec.mounts
    ]
    return [
        "run",
        f"--name={container_name(spec.placement)}",
        f"--label={AGENT}={agent}",
        f"--label={PLACEMENT}={Path(spec.directory).parent}",
        "--pull=never",
        # The container writes straight into the log that the keeper has opened.
        "--log-driver=passthrough",
        "--entrypoint=",
        f"--workdir={spec.directory}",
        f"--env-file={Path(spec.directory).parent / ENVIRONMENT}",
        *(f"--env={name}" for name in lines_apart(spec)),
        "--http-proxy=false",
        f"--network={options.network}",
        f"--shm-size={0 if spec.asked.large_shm else options.shm_size}",
        "--security-opt=no-new-privileges",
        "--security-opt=label=disable",
        *_init(),
        *_user(account),
        *_limits(spec, parent),
        *_ulimits(),
        *(f"--mount={bind}" for bind in binds),
        *_gpus(spec, options, declared_gpus),
        *options.run,
        str(spec.image),
        *spec.command,
    ]


def environment_file(spec: Spec, home: Path, name: str | None = None) -> str:
    """Variables of one line each; `name`: of the account. GPUs have new numbers in a container that sees its own."""
    told = {"HOME": str(home), **({"USER": name, "LOGNAME": name} if name else {}), **spec.env}
    if spec.gpu_indices:
        told["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in range(len(spec.gpu_indices)))
    apart = lines_apart(spec)
    return "".join(f"{name}={value}\n" for name, value in sorted(told.items()) if name not in apart)


def lines_apart(spec: Spec) -> list[str]:
    """Variables of several lines, which no file can hold: handed on by the client's own environment."""
    return sorted(name for name, value in spec.env.items() if "\n" in value and name not in os.environ)


def client_environment(spec: Spec) -> dict[str, str]:
    return {**os.environ, **{name: spec.env[name] for name in lines_apart(spec)}}


def _init() -> list[str]:
    found = next((path for name in _INITS if (path := shutil.which(name, path=_search_path()))), None)
    return ["--init", f"--init-path={found}"] if found else []


def _search_path() -> str:
    return os.pathsep.join([os.environ.get("PATH", os.defpath), _INIT_PLACES])


def _user(account: ContainerAccount) -> list[str]:
    if account.uid is not None:
        groups = [f"--group-add={group}" for group in account.groups if group != account.uid]
        entry = [f"--passwd-entry={account.entry}"] if account.entry else []
        return [f"--user={account.uid}:{account.uid}", *entry, *groups]
    return ["--user=0:0"] if os.geteuid() == 0 else ["--userns=keep-id"]


def _limits(spec: Spec, parent: str | None) -> list[str]:
    cpus = [f"--cpus={spec.asked.cpu}"] if spec.asked.cpu else []
    if parent is not None:
        return [*cpus, f"--cgroup-parent={parent}"]
    memory = f"{spec.asked.memory_bytes}b"
    return [*cpus, *([f"--memory={memory}", f"--memory-swap={memory}"] if spec.asked.memory_bytes else [])]


def _ulimits() -> list[str]:
    """A root that may not raise limits, as in a container, cannot give those that Podman would."""
    if os.geteuid() != 0 or _capabilities() & _CAP_SYS_RESOURCE:
        return []
    files, processes = resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_NPROC)
    # Podman lowers the number of processes to that of files for itself; a container cannot have more.
    hard = files[1] if processes[1] == resource.RLIM_INFINITY else min(files[1], processes[1])
    return [f"--ulimit=nofile={files[0]}:{files[1]}", f"--ulimit=nproc={hard}:{hard}"]


def _capabilities() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff"))


def _gpus(spec: Spec, options: PodmanOptions, declared: bool) -> list[str]:
    if not spec.gpu_indices:
        return []
    if any(any(directory.glob("*")) for directory in _CDI):
        return [f"--device={options.cdi}={index}" for index in spec.gpu_indices]
    if declared:
        return []
    raise OSError("no CDI file describes the GPUs for Podman (create one: nvidia-ctk cdi generate)")
