"""`mill submit`: a command as a job, with the working directory as its code."""

from __future__ import annotations

import os
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
from millpond.client.jobs import submit_job, wait_for_job
from millpond.errors import BadRequest
from millpond.model.names import DatasetRef, check_name
from millpond.model.quantity import format_tree, parse_bytes, parse_gpus
from millpond.wire.data import Commit
from millpond.wire.work import Job, JobCreate

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
    cpu: Annotated[int, typer.Option(help="CPUs to reserve; 0 is best effort.", min=0)] = 0,
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory to reserve, like 8GB; 0 is best effort.")] = "0",
    gpu: Annotated[str, typer.Option("--gpu", "-g", metavar="N", help="GPUs, like 1 or 0.5.")] = "0",
    experiment: Annotated[str | None, typer.Option(help="The experiment its run belongs to.")] = None,
    no_code: Annotated[bool, typer.Option("--no-code", help="Do not send the working directory.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print its log and wait for its end.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Send the working directory however large it is.")] = False,
) -> None:
    """Run a command as a job, beside its data.

    The working directory is its code, without what .gitignore and .millignore name.

    With --wait or --follow, the exit code is 0 when it succeeded, 100 when it failed, 103 when it was cancelled.
    """
    words: list[str] = ctx.meta[_COMMAND]
    if not words:
        raise BadRequest("There is no command.", hint="Write it behind --, like: mill submit train -- python train.py")
    request = JobCreate(
        name=check_name(name, "job") if name else None,
        command=words,
        env=dict(_variable(text) for text in env or []),
        inputs=[str(DatasetRef.parse(text)) for text in data or []],
        cpu=cpu,
        memory_bytes=parse_bytes(memory),
        gpu_hundredths=parse_gpus(gpu),
        experiment=experiment,
    )
    if not no_code:
        request = request.model_copy(update={"code_commit": _send_code(mill, yes=yes).id})
    job = submit_job(mill.api, mill.project, request)
    mill.out.note(f"Job {job.written} ({job.id}) is submitted. See: mill logs -f {job.id}   mill why {job.id}")
    _attend(mill, job, follow=follow, wait=wait)


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


def _send_code(mill: Session, *, yes: bool) -> Commit:
    root = Path.cwd()
    size = measure_code(root)
    if size.bytes > MOST_BYTES and not yes:
        if not mill.may_ask:
            raise too_large(root, size)
        mill.confirm(f"{too_large(root, size).message} Send it all the same?", yes=yes)
    with Meter(mill.out, "Sending the code") as meter:
        commit = commit_code(mill.api, mill.project, root, progress=tell(meter))
    mill.out.note(f"Code: {format_tree(commit.files, commit.bytes)} ({commit.id[:12]})")
    return commit


def _variable(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or "\0" in text:
        raise BadRequest(f"{text!r} is not a variable.", hint="Write it as KEY=VALUE.")
    if equals:
        return key, value
    if key not in os.environ:
        raise BadRequest(f"{key} is not set here.", hint=f"Write it as {key}=VALUE.")
    return key, os.environ[key]
