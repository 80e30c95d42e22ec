"""`mill workspace open`: work in a workspace, in JupyterLab, code-server or a shell."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli import streams
from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.cli.workspace_arguments import WorkspaceName
from millpond.client import opening
from millpond.client.environment import commit_environment
from millpond.errors import BadRequest, Unavailable
from millpond.model.quantity import parse_bytes, parse_gpus, parse_seconds
from millpond.model.workspace_session import SessionKind
from millpond.wire.workspace_sessions import WorkspaceSession

app = typer.Typer()


@command(app, "open")
def open_(
    mill: Session,
    workspace: WorkspaceName,
    lab: Annotated[bool, typer.Option("--lab", help="Open JupyterLab in the browser.")] = False,
    code: Annotated[bool, typer.Option("--code", help="Open code-server in the browser.")] = False,
    shell: Annotated[bool, typer.Option("--shell", help="Open a shell (default).")] = False,
    on: Annotated[str | None, typer.Option("--on", metavar="TEMPLATE", help="Template or queue to run on.")] = None,
    cpu: Annotated[int, typer.Option("--cpu", "-c", metavar="N", help="CPUs to reserve.", min=0)] = 0,
    memory: Annotated[str | None, typer.Option("--memory", "-m", metavar="SIZE", help="Memory to reserve.")] = None,
    gpu: Annotated[str | None, typer.Option("--gpu", "-g", metavar="N", help="GPUs, like 1 or 0.5.")] = None,
    image: Annotated[str | None, typer.Option("--image", "-i", metavar="IMAGE", help="Container image.")] = None,
    install: Annotated[bool, typer.Option("--install", help="Install JupyterLab for it, where it is missing.")] = False,
    requirements: Annotated[
        Path | None,
        typer.Option("--requirements", "-r", metavar="FILE", help="Install these packages, JupyterLab among them."),
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option("--data", "-d", metavar="DATASET[@REF]", help="Dataset to read. Repeatable.")
    ] = None,
    others: Annotated[
        list[str] | None,
        typer.Option("--workspace", "-w", metavar="NAME:/PATH[:ro]", help="Further workspace for it. Repeatable."),
    ] = None,
    compute: Annotated[str | None, typer.Option(metavar="NAME", help="Run on this compute only.")] = None,
    idle: Annotated[str, typer.Option(metavar="TIME", help="Stop it after this long without use.")] = "8h",
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, open nothing.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Start the job and return at once.")] = False,
) -> None:
    """Work in a workspace: an interactive job that has it as its home. Opening it again finds the running one.

    Example: mill workspace open notes --lab --gpu 1 -d xray
    """
    chosen = [kind for kind, wanted in zip(SessionKind, (lab, code, shell), strict=True) if wanted]
    if len(chosen) > 1:
        raise BadRequest("Give one of --lab, --code and --shell.")
    kind = chosen[0] if chosen else SessionKind.SHELL
    environment = commit_environment(mill.api, mill.project, requirements).id if requirements else None
    session = opening.open_session(
        mill.api, mill.project, workspace, kind, on=on, cpu=cpu, image=image, install=install,
        memory_bytes=parse_bytes(memory) if memory else 0, gpu_hundredths=parse_gpus(gpu) if gpu else 0,
        inputs=data or [], workspaces=others or [], compute=compute, environment=environment,
        idle_seconds=parse_seconds(idle),
    )  # fmt: skip
    mill.out.note(f"Job {session.name} ({session.job}) {'submitted' if session.is_new else 'already exists'}.")
    if no_wait:
        _show(mill, session, None)
        return
    running = _waited(mill, workspace, session)
    if kind is not SessionKind.SHELL:
        _open_port(mill, workspace, running, browse=not no_browser and mill.may_ask)
    elif mill.out.as_json or not mill.may_ask:
        _show(mill, running, None)
    else:
        streams.bash(mill, running.job)


@command(app, "sessions")
def sessions(mill: Session, workspace: WorkspaceName) -> None:
    """List the sessions of a workspace that have not ended. `mill stop JOB` ends one.

    Example: mill workspace sessions notes
    """
    columns: list[Column[WorkspaceSession]] = [
        ("JOB", lambda one: one.job),
        ("OPENED AS", lambda one: one.title),
        ("STATE", lambda one: one.state.value),
        ("BY", lambda one: one.created_by),
        ("SINCE", lambda one: one.created_at),
        ("COMPUTE", lambda one: one.compute),
    ]
    found = opening.list_sessions(mill.api, mill.project, workspace)
    mill.out.items(found, columns, empty=f"No sessions. Open one: mill workspace open {workspace} --lab")


def _waited(mill: Session, workspace: str, session: WorkspaceSession) -> WorkspaceSession:
    seen: list[tuple[str, str | None]] = []

    def changed(now: WorkspaceSession) -> None:
        if (now.state.value, now.reason) not in seen:
            seen.append((now.state.value, now.reason))
            mill.out.note(f"{now.title} is {now.state.value}{f': {now.reason}' if now.reason else '.'}")

    return opening.wait_until_running(mill.api, mill.project, workspace, session.job, changed=changed)


def _open_port(mill: Session, workspace: str, session: WorkspaceSession, *, browse: bool) -> None:
    try:
        url = opening.session_url(mill.api, mill.project, workspace, session.job)
    except Unavailable as error:
        token = opening.session_token(mill.api, mill.project, session.job)
        mill.out.note(f"{error.message} Forward its port: mill port-forward {session.job} {session.port}")
        if session.kind is SessionKind.CODE:
            mill.out.note(f"code-server asks for this password: {token}")
        end = f"lab?token={token}" if session.kind is SessionKind.LAB else ""
        _show(mill, session, f"http://127.0.0.1:{session.port}/{end}")
        return
    if browse:
        webbrowser.open(url)
        mill.out.note("Opened in the browser. The address works once, for a minute.")
    _show(mill, session, url)


def _show(mill: Session, session: WorkspaceSession, url: str | None) -> None:
    if mill.out.as_json:
        state = session.state.value
        mill.out.json({"job": session.job, "name": session.name, "state": state, "url": url})
    elif url is not None:
        mill.out.line(url)
    else:
        mill.out.note(f"Once it runs: mill bash {session.job}")
