"""`mill submit`: a command as a job, with the working directory as its code."""

from __future__ import annotations

import os
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from millpond.cli.command import command
from millpond.cli.following import end_with, follow_job, say_state
from millpond.cli.jobs import show_job
from millpond.cli.progress import Meter, tell
from millpond.cli.session import Session
from millpond.client.code import MOST_BYTES, commit_code, measure_code, too_large
from millpond.client.environment import commit_environment
from millpond.client.git import checked_out, read_state
from millpond.client.jobs import submit_job, wait_for_job
from millpond.errors import BadRequest
from millpond.model.job_spec import MAX_PROCESSES, MAX_RETRIES, Dependency, JobInput, JobKind, JobSpec
from millpond.model.names import check_name
from millpond.model.quantity import format_tree, parse_bytes, parse_gpus, parse_seconds
from millpond.model.secret import parse_secret
from millpond.wire.jobs import Job, JobCreate
from millpond.wire.quick.data import Commit

app = typer.Typer()

_COMMAND = "millpond.command"


class SubmitCommand(TyperCommand):
    """Keeps what stands behind `--` apart: NAME may be left out, and the command may begin with anything."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own, rest = (args[: args.index("--")], args[args.index("--") + 1 :]) if "--" in args else (args, [])
        ctx.meta[_COMMAND] = rest
        return super().parse_args(ctx, own)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "-- COMMAND..."]


_DISTRIBUTED = "Run a command as a distributed job: `mill submit` with --processes, which must be said."


@command(app, "submit-mpi", cls=SubmitCommand, help=_DISTRIBUTED)
@command(app, "submit", cls=SubmitCommand)
def submit(
    mill: Session,
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The job's name; one is made without it.")] = None,
    data: Annotated[
        list[str] | None,
        typer.Option("--data", "-d", metavar="DATASET[@REF]", help="An input, at $MILL_DATA_<DATASET>. Repeatable."),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="KEY=VALUE", help="For its environment; KEY alone takes ours. Repeatable."),
    ] = None,
    secret: Annotated[
        list[str] | None,
        typer.Option(metavar="[VARIABLE=]NAME", help="A secret of the project for its environment. Repeatable."),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes",
            "-n",
            metavar="N",
            help="Start so many of the command together, or none, each with its rank: --cpu and --memory are for each.",
            min=1,
            max=MAX_PROCESSES,
        ),
    ] = None,
    gpu_per_process: Annotated[
        str | None, typer.Option(metavar="G", help="GPUs of each of the --processes, like 1 or 0.5.")
    ] = None,
    cpu: Annotated[int, typer.Option(help="CPUs to reserve; 0 is best effort.", min=0)] = 0,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory to reserve, like 8GB; 0 is best effort.")] = "0",
    gpu: Annotated[str, typer.Option("--gpu", "-g", metavar="N", help="GPUs, like 1 or 0.5.")] = "0",
    enforced: Annotated[
        bool, typer.Option("--enforced", help="Only where a part of a GPU is kept to, not merely counted.")
    ] = False,
    image: Annotated[
        str | None,
        typer.Option("--image", "-i", metavar="IMAGE", help="The container image it runs in.", show_default=False),
    ] = None,
    compute: Annotated[str | None, typer.Option(metavar="NAME", help="The one compute it may run on.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="KEY=VALUE",
            help="Asked of the driver there, like partition=long on Slurm. Repeatable.",
        ),
    ] = None,
    priority: Annotated[int, typer.Option(help="Higher ones are tried first.", min=-100, max=100)] = 0,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="End it when it has run so long, like 90m.")
    ] = None,
    retries: Annotated[
        int, typer.Option(help="Try it again so often when it fails; what is lost with a machine is free.", min=0)
    ] = 0,
    retry_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOW", help="exit, signal, oom, timeout, any, or an exit status; exit and signal without it."
        ),
    ] = None,
    backoff: Annotated[
        str, typer.Option(metavar="TIME", help="Before the first retry; then twice as long each time.")
    ] = "5s",
    after: Annotated[
        list[str] | None,
        typer.Option(metavar="JOB[:any]", help="Begin when this job has succeeded (:any: has ended). Repeatable."),
    ] = None,
    experiment: Annotated[str | None, typer.Option(help="The experiment its run belongs to.")] = None,
    requirements: Annotated[
        Path | None,
        typer.Option(
            "--requirements",
            "-r",
            metavar="FILE",
            help="Packages: requirements.txt, pyproject.toml or a lock file. Built once, then kept beside the compute.",
        ),
    ] = None,
    git: Annotated[
        str | None,
        typer.Option(
            metavar="URL@REV", help="The code of a Git repository instead; @REV is this folder's own at that revision."
        ),
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="For people to work in: mill bash, and --port in a browser.")
    ] = False,
    port: Annotated[
        list[int] | None, typer.Option("--port", help="A port it serves, to open from the page. Repeatable.")
    ] = None,
    idle: Annotated[
        str | None, typer.Option(metavar="TIME", help="Stop it when nobody used it for so long, like 2h.")
    ] = None,
    no_code: Annotated[bool, typer.Option("--no-code", help="Do not send the working directory.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print its log and wait for its end.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Send the working directory however large it is.")] = False,
) -> None:
    """Run a command as a job, beside its data.

    The working directory is its code, without what .gitignore and .millignore name. With --processes it is a
    distributed job (submit-mpi is another name for that): see docs/jobs.md.

    With --wait or --follow, the exit code is 0 when it succeeded, 100 when it failed, 103 when it was cancelled. With
    --follow and --json the log goes to stderr.
    """
    words: list[str] = ctx.meta[_COMMAND]
    if not words:
        raise BadRequest("There is no command.", hint="Write it behind --, like: mill submit train -- python train.py")
    spec = JobSpec(
        kind=JobKind.INTERACTIVE if interactive or port is not None or idle is not None else JobKind.TRAINING,
        command=tuple(words),
        env=dict(_variable(text) for text in env or []),
        secrets=dict(parse_secret(text) for text in secret or []),
        inputs=tuple(JobInput.parse(text) for text in data or []),
        processes=_processes(ctx, processes),
        cpu=cpu,
        memory_bytes=parse_bytes(memory),
        gpu_hundredths=_gpus(gpu, gpu_per_process, processes),
        gpu_enforced=enforced,
        image=image,
        experiment=experiment,
        compute=compute,
        options=dict(_option(text) for text in option or []),
        priority=priority,
        timeout_seconds=0 if timeout is None else _whole_seconds(timeout, "--timeout"),
        retries=_retries(retries, retry_on),
        retry_on=tuple(word for text in retry_on or [] for word in text.split(",")),
        backoff_seconds=ceil(parse_seconds(backoff)),
        after=tuple(Dependency.parse(text) for text in after or []),
        ports=tuple(port or []),
        idle_seconds=0 if idle is None else _whole_seconds(idle, "--idle"),
    )
    if git is not None and no_code:
        raise BadRequest("--git and --no-code do not go together.", hint="Leave one of them out.")
    if requirements is not None:
        spec = replace(spec, environment=commit_environment(mill.api, mill.project, requirements).id)
    if not no_code:
        commit, tags = _send_code(mill, yes=yes) if git is None else _send_git(mill, git)
        spec = replace(spec, code_commit=commit.id, tags=tags)
    request = JobCreate(name=check_name(name, "job") if name else None, spec=spec)
    job = submit_job(mill.api, mill.project, request)
    mill.out.note(f"Job {job.written} ({job.id}) is submitted. See: mill logs -f {job.id}   mill why {job.id}")
    if spec.kind is JobKind.INTERACTIVE:
        ways = [f"mill bash {job.id}", *(f"mill port-forward {job.id} {number}" for number in spec.ports)]
        mill.out.note(f"Once it runs: {'   '.join(ways)}")
    _attend(mill, job, follow=follow, wait=wait)


def _processes(ctx: typer.Context, processes: int | None) -> int:
    if processes is None and ctx.info_name == "submit-mpi":
        raise BadRequest("Say how many processes there are.", hint="Add --processes N.")
    return processes or 0


def _gpus(gpu: str, per_process: str | None, processes: int | None) -> int:
    if per_process is None:
        if processes and parse_gpus(gpu):
            raise BadRequest(
                f"{processes} processes and --gpu {gpu} do not go together.",
                hint=f"Say how many each has: --gpu-per-process {gpu}.",
            )
        return parse_gpus(gpu)
    if processes is None:
        raise BadRequest("--gpu-per-process is for distributed jobs.", hint="Add --processes N, or say --gpu.")
    return parse_gpus(per_process)


def _whole_seconds(text: str, option: str) -> int:
    seconds = ceil(parse_seconds(text))
    if seconds < 1:
        raise BadRequest(f"{option} {text} is no time to run.", hint="Leave it out for no limit.")
    return seconds


def _retries(retries: int, retry_on: list[str] | None) -> int:
    if retries > MAX_RETRIES:
        raise BadRequest(f"A job has at most {MAX_RETRIES} retries.", hint="What fails so often fails always.")
    if retry_on and not retries:
        raise BadRequest("--retry-on says when, but not how often.", hint="Add --retries N.")
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
            ended = wait_for_job(mill.api, job.project, job.id, changed=lambda j: say_state(mill, j))
    except KeyboardInterrupt:
        mill.out.note(f"\nThe job goes on. Follow it: mill logs -f {job.id}   End it: mill stop {job.id}")
        raise
    if mill.out.as_json:
        show_job(mill, ended)
    end_with(mill, ended)


def _send_git(mill: Session, written: str) -> tuple[Commit, dict[str, str]]:
    """A repository at a revision, without its history."""
    with checked_out(written, Path.cwd()) as checkout, Meter(mill.out, "Sending the code") as meter:
        commit = commit_code(mill.api, mill.project, checkout.folder, progress=tell(meter), whole=True)
    tags = checkout.state.tags()
    mill.out.note(f"Code: {tags['git.commit'][:12]} of {tags['git.url']}, {format_tree(commit.files, commit.bytes)}")
    return commit, tags


def _send_code(mill: Session, *, yes: bool) -> tuple[Commit, dict[str, str]]:
    """The working directory, and what Git knows about it."""
    root = Path.cwd()
    size = measure_code(root)
    if size.bytes > MOST_BYTES and not yes:
        if not mill.may_ask:
            raise too_large(root, size)
        mill.confirm(f"{too_large(root, size).message} Send it all the same?", yes=yes)
    with Meter(mill.out, "Sending the code") as meter:
        commit = commit_code(mill.api, mill.project, root, progress=tell(meter))
    mill.out.note(f"Code: {format_tree(commit.files, commit.bytes)} ({commit.id[:12]})")
    state = read_state(root)
    return commit, state.tags() if state else {}


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise BadRequest(f"{text!r} is no option.", hint="Write it as KEY=VALUE, like --option partition=long.")
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
