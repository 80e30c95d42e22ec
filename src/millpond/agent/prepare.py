"""Prepares a placement: a fresh working directory with the code, and the environment of the command."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from millpond.agent import mpi, service_folder, step_folder
from millpond.agent.keeper.clock import boot_id
from millpond.agent.own_address import LOOPBACK
from millpond.agent.spec import LOG, Mount, Spec, renew, write_private
from millpond.model.job import RankPlace
from millpond.model.mount import mount_variable, workspace_variable
from millpond.model.secret import RESERVED
from millpond.wire.desired import DesiredPlacement

WORK = "work"
OUTPUT = "output"
TEMPORARY = "tmp"
CHECKPOINT = "checkpoint"
# What a job may write to, beside its home.
WRITABLE = (WORK, OUTPUT, CHECKPOINT, TEMPORARY)
# Where a container shows its inputs.
DATA = "/data"
# Variables of the inputs of a flow's step.
_INPUT = "MILL_INPUT_"

# What a job may need of the agent's own environment: who it is, how it reaches the network, where libraries lie.
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
_INHERITED = (
    "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", *_PROXIES,
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "MILL_CA_FILE",
)  # fmt: skip


def prepare(
    directory: Path,
    desired: DesiredPlacement,
    *,
    server: str,
    code: Path | None,
    inputs: Mapping[str, Path],
    renewed: float,
    image: str | None = None,
    gpu_memory_bytes: int = 0,
    epoch: float | None = None,
    restore: Callable[[Path], None] = lambda directory: None,
    fetch_code: Callable[[Path], None] | None = None,
    address: str | None = LOOPBACK,
    scratch: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Fill the placement's directory up to `spec.json`, which comes last: with it the placement is prepared.

    `code` is the published commit to copy, `inputs` maps variables to published commits, `renewed` is the boot time
    from which its validity counts, `image` the container the job runs in, if it does: its inputs are mounted there.
    `gpu_memory_bytes` is that of one GPU of the node, where it is known; `epoch` what the server's clock showed when
    the boot time here was zero. `restore` fills the directory of its checkpoint, `fetch_code` the one it starts in.
    `address` is that of this machine at its site, for services; None if jobs run on other machines.
    `scratch` is a directory on a volume that is its own.
    Leftovers of an interrupted preparation are removed. Raises OSError (disk full …).
    """
    gone = sorted(variable for variable, value in desired.secrets.items() if value is None)
    if gone:
        raise OSError(
            f"the secret for variable {gone[0]} no longer exists, or cannot be decrypted with the server's key"
        )
    withdrawn = [mount for mount in desired.mounts if mount.source is None]
    if withdrawn:
        noun = "workspace" if withdrawn[0].workspace else "mount"
        raise OSError(f"the {noun} {withdrawn[0].name!r} no longer exists, or its project may no longer use it")
    if desired.service is not None and desired.service.refused:
        raise OSError(desired.service.refused)
    if desired.refused:
        raise OSError(desired.refused)
    if directory.exists():
        shutil.rmtree(directory)
    directory.mkdir(mode=0o700)
    work = directory / WORK
    if code is None:
        work.mkdir()
        if fetch_code is not None:
            fetch_code(work)
    else:
        copy_writable(code, work)
    for name in (OUTPUT, CHECKPOINT, TEMPORARY):
        (directory / name).mkdir()
    if desired.service is not None:
        service_folder.make(directory, desired.service)
    step_folder.make(desired.spec, output=directory / OUTPUT, temporary=directory / TEMPORARY)
    restore(directory / CHECKPOINT)
    if desired.lines:
        write_private(directory / LOG, "".join(f"{line}\n" for line in desired.lines))
    renew(directory, renewed)
    mounts = mounts_of(desired, inputs)
    seen = {variable: Path(mount.target) for variable, mount in mounts.items()} if image else inputs
    Spec(
        placement=desired.id,
        job=desired.job_id,
        project=desired.project,
        asked=desired.spec,
        env=environment(
            desired,
            directory,
            server=server,
            inputs=seen,
            environ=environ,
            container=bool(image),
            gpu_memory_bytes=gpu_memory_bytes,
            address=address,
            scratch=scratch,
        ),
        directory=str(work),
        valid_seconds=desired.valid_seconds,
        grace_seconds=desired.spec.grace_seconds,
        log_bytes=desired.log_bytes,
        epoch=None if epoch is None else (epoch, boot_id()),
        secret_env=tuple(desired.secrets),
        node=desired.node,
        gpu_indices=tuple(_gpus(desired)),
        ranks=() if mpi.is_mpi(desired.spec) else _ranks(desired),
        image=image,
        inputs=tuple(mounts.values()),
        mounts=tuple(Mount(one.source, one.target, writable=not one.read_only) for one in desired.mounts if one.source),
        account=desired.account,
        accounts=tuple(sorted({desired.account, *(item.account for item in desired.inputs)})),
        client=bool(
            desired.service and (desired.service.joins or (desired.spec.service and desired.spec.service.cluster))
        ),
        starter=service_folder.starter(directory, desired.service, desired.spec.command) if desired.service else (),
        scratch=None if scratch is None else str(scratch),
    ).write(directory)


def _ranks(desired: DesiredPlacement) -> tuple[RankPlace, ...]:
    return tuple(RankPlace(one.node, tuple(one.gpu_indices)) for one in desired.ranks)


def _gpus(desired: DesiredPlacement) -> list[int]:
    """Those that its one keeper is given: of an MPI job, all of its processes'."""
    if not mpi.is_mpi(desired.spec):
        return desired.gpu_indices
    return sorted({index for one in desired.ranks for index in one.gpu_indices})


def mounts_of(desired: DesiredPlacement, inputs: Mapping[str, Path]) -> dict[str, Mount]:
    """Where a container shows each input: `/data/<dataset>`; datasets of one name are told apart by their variables."""
    names = Counter(item.dataset for item in desired.inputs)
    targets = {
        item.env: item.dataset if names[item.dataset] == 1 and not item.env.startswith(_INPUT) else _lowered(item.env)
        for item in desired.inputs
    }
    return {
        variable: Mount(str(path), f"{DATA}/{targets.get(variable, variable.lower())}")
        for variable, path in inputs.items()
    }


def _lowered(variable: str) -> str:
    return variable.removeprefix("MILL_DATA_").removeprefix(_INPUT).lower()


def environment(
    desired: DesiredPlacement,
    directory: Path,
    *,
    server: str,
    inputs: Mapping[str, Path],
    environ: Mapping[str, str],
    container: bool = False,
    gpu_memory_bytes: int = 0,
    address: str | None = LOOPBACK,
    scratch: Path | None = None,
) -> dict[str, str]:
    """The environment of a job: a base that programs expect, Millpond's variables, and the user's, which win.

    Only names that begin with MILL_ are Millpond's; the server has refused jobs that set one.
    An image brings a base of its own; of the agent's only the way to the network counts there.
    """
    base = {name: environ[name] for name in (_PROXIES if container else _INHERITED) if name in environ}
    base.setdefault("LANG", "C.UTF-8")
    if not container:
        # First on the path is the Python that Millpond runs in: `import millpond` works in a job.
        base["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)])
    base["TMPDIR"] = str(directory / TEMPORARY)
    base["PYTHONUNBUFFERED"] = "1"  # logs are watched live
    said = {
        "MILL_SERVER": server,
        "MILL_TOKEN": desired.token,
        "MILL_PROJECT": desired.project,
        # In a container at its target; otherwise where it is on this machine.
        **_mount_variables(desired, container=container),
        "MILL_JOB_ID": desired.job_id,
        "MILL_JOB_NAME": desired.job_name,
        "MILL_RUN_ID": desired.run_id,
        "MILL_PLACEMENT": desired.id,
        "MILL_ATTEMPT": str(desired.attempt),
        "MILL_OUTPUT": str(directory / OUTPUT),
        "MILL_CHECKPOINT": str(directory / CHECKPOINT),
        **{variable: str(path) for variable, path in inputs.items()},
        **step_folder.variables(desired.spec, inputs, directory / TEMPORARY),
        **_service_variables(desired, directory, address),
        **mpi.variables(desired.spec, desired.id, _ranks(desired), container=container),
        **({} if scratch is None else {"MILL_SCRATCH": str(scratch)}),
    }
    if "MLFLOW_TRACKING_URI" not in {**desired.spec.env, **desired.secrets}:
        # The first run that MLflow's client creates is the job's. MLFLOW_RUN_ID would say so, too, but with it the
        # client refuses scripts that call set_experiment. A tracking server of the user's own gets nothing of ours.
        said["MLFLOW_TRACKING_URI"] = f"{server}/mlflow/{desired.project}"
        said["MLFLOW_TRACKING_TOKEN"] = desired.token
    if desired.spec.cpu:
        said["MILL_CPUS"] = str(desired.spec.cpu)
    if desired.spec.memory_bytes:
        said["MILL_MEMORY_BYTES"] = str(desired.spec.memory_bytes)
    if desired.spec.pinned:
        pins = {f"{one.dataset}@{one.ref}": one.commit_id for one in desired.spec.inputs}
        said["MILL_PINNED"] = json.dumps(pins)
    gpus = _gpus(desired)
    if not container or not gpus:
        # Empty, and not absent, for a job without a GPU: absent would show it all of them. A container shows the job
        # its own GPUs only, counted from 0.
        said["CUDA_VISIBLE_DEVICES"] = ",".join(str(index) for index in gpus)
    if desired.spec.gpu_hundredths % 100:
        said["MILL_GPU_FRACTION"] = f"{desired.spec.gpu_hundredths / 100:.2f}"
        if gpu_memory_bytes:
            said["MILL_GPU_MEMORY_MB"] = str(gpu_memory_bytes * (desired.spec.gpu_hundredths % 100) // 100 // 1024**2)
    given = {variable: value for variable, value in desired.secrets.items() if value is not None}
    own = {name: value for name, value in said.items() if name.startswith(RESERVED)}
    found = {**base, **said, **desired.spec.env, **given, **own}
    if desired.environment:
        packages = Path(found[desired.environment.env])
        if "PATH" in found:  # an image has one of its own
            found["PATH"] = os.pathsep.join([str(packages / "bin"), found["PATH"]])
        found["PYTHONPATH"] = os.pathsep.join(filter(None, [desired.spec.env.get("PYTHONPATH"), str(packages)]))
    return found


def _mount_variables(desired: DesiredPlacement, *, container: bool) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in desired.mounts:
        if one.source is not None:
            path = one.target if container else one.source
            found[workspace_variable(one.name) if one.workspace else mount_variable(one.name)] = path
            found |= {"HOME": path} if one.home else {}
    return found


def _service_variables(desired: DesiredPlacement, directory: Path, address: str | None) -> dict[str, str]:
    if desired.service is None:
        return {}
    if desired.spec.service is None:
        return service_folder.of_client(desired.service, directory, address)
    return service_folder.variables(desired.spec.service, desired.service, directory, desired.account, address)


def copy_writable(source: Path, target: Path) -> None:
    """Copy a published commit so that the job can change it: new times, write permission for the owner."""
    try:
        shutil.copytree(source, target, symlinks=True, copy_function=_copy_file)
    except shutil.Error as error:
        # One triple of source, target and words per file; the first says what is wrong, and the rest say it again.
        raise OSError(f"cannot copy the code: {error.args[0][0][2]}") from error
    target.chmod(0o755)


def _copy_file(source: str, target: str) -> str:
    shutil.copyfile(source, target, follow_symlinks=False)
    Path(target).chmod(Path(source).lstat().st_mode | 0o200)
    return target
