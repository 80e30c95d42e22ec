"""`mill workspace open`: work in a workspace, in JupyterLab, code-server or a shell."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from millpond.cli import streams
from millpond.cli.command import command
from millpond.cli.follow import say_state
from millpond.cli.session import Session
from millpond.cli.workspace_arguments import WorkspaceName
from millpond.client.opening import OpenWith, open_workspace, opened_url, password_of, wait_until_open
from millpond.errors import BadRequest, NotReady
from millpond.model.quantity import parse_bytes, parse_gpus, parse_seconds
from millpond.wire.jobs import Job

app = typer.Typer()


@command(app, "open")
def open_(
    mill: Session,
    workspace: WorkspaceName,
    lab: Annotated[bool, typer.Option("--lab", help="Open JupyterLab in the browser.")] = False,
    code: Annotated[bool, typer.Option("--code", help="Open code-server in the browser.")] = False,
    shell: Annotated[bool, typer.Option("--shell", help="Open a shell (default).")] = False,
    cpu: Annotated[int, typer.Option("--cpu", "-c", metavar="N", help="CPUs to reserve.", min=0)] = 0,
    memory: Annotated[str | None, typer.Option("--memory", "-m", metavar="SIZE", help="Memory to reserve.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", "-g", metavar="N", help="GPUs, like 1 or 0.5.")] = None,
    image: Annotated[str | None, typer.Option("--image", "-i", metavar="IMAGE", help="Container image.")] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", "-d", metavar="DATASET[@REF]", help="Dataset to read. Repeatable.")
    ] = None,
    compute: Annotated[str | None, typer.Option(metavar="NAME", help="Run on this compute only.")] = None,
    idle: Annotated[str, typer.Option(metavar="TIME", help="Stop it after this long without use.")] = "8h",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, open nothing.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Start the job and return at once.")] = False,
) -> None:
    """Work in a workspace: an interactive job that has it as its home. Opening it again finds the running one.

    Example: mill workspace open notes --lab --gpu 1 -d xray
    """
    chosen = [kind for kind, wanted in (("lab", lab), ("code", code), ("shell", shell)) if wanted]
    if len(chosen) > 1:
        raise BadRequest("Give one of --lab, --code and --shell.")
    asked = OpenWith(
        kind=chosen[0] if chosen else "shell",
        cpu=cpu,
        memory_bytes=parse_bytes(memory) if memory else 0,
        gpu_hundredths=parse_gpus(gpu) if gpu else 0,
        image=image,
        data=tuple(data or ()),
        compute=compute,
        idle_seconds=parse_seconds(idle),
    )
    job, is_new = open_workspace(mill.api, mill.project, workspace, asked)
    mill.out.note(f"Job {job.written} ({job.id}) {'submitted' if is_new else 'already exists'}.")
    if no_wait:
        _show(mill, job, None)
        return
    seen: list[tuple[str, str | None]] = []

    def changed(now: Job) -> None:
        if (now.state.value, now.reason) not in seen:
            seen.append((now.state.value, now.reason))
            say_state(mill, now)

    job = wait_until_open(mill.api, mill.project, job, changed=changed)
    if asked.kind == "shell":
        if mill.out.as_json or not mill.may_ask:
            _show(mill, job, None)
            return
        streams.bash(mill, job.id)
        return
    _open_port(mill, job, asked.kind, browse=not no_browser and mill.may_ask)


def _open_port(mill: Session, job: Job, kind: str, *, browse: bool) -> None:
    try:
        url = opened_url(mill.api, mill.project, job)
    except NotReady as error:
        port, password = job.spec.ports[0], password_of(mill.api, mill.project, job)
        end = f"lab?token={password}" if kind == "lab" else ""
        mill.out.note(f"{error.message} Forward its port: mill port-forward {job.id} {port}")
        _show(mill, job, f"http://127.0.0.1:{port}/{end}")
        return
    if kind == "code":
        mill.out.note(f"code-server asks for this password: {password_of(mill.api, mill.project, job)}")
    if browse:
        webbrowser.open(url)
        mill.out.note("Opened in the browser. The address works once, for a minute.")
    _show(mill, job, url)


def _show(mill: Session, job: Job, url: str | None) -> None:
    if mill.out.as_json:
        mill.out.json({"job": job.id, "name": job.name, "state": job.state.value, "url": url})
    elif url is not None:
        mill.out.line(url)
    else:
        mill.out.note(f"Once it runs: mill bash {job.id}")
