"""`mill ssh-config` and `mill ssh-proxy`: jobs and workspaces as hosts of OpenSSH, scp, rsync and VS Code."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.streams import send_input
from millpond.client import opening, ssh_config, workspaces
from millpond.client.files import write_atomically
from millpond.client.jobs import get_job, list_jobs
from millpond.client.ssh_config import SshHost
from millpond.client.streams import STDERR, STDOUT, Stream, open_exec
from millpond.errors import BadRequest, MillError, NotFound, Unavailable
from millpond.model.job import JobState
from millpond.model.workspace_session import SessionKind
from millpond.wire.workspace_sessions import WorkspaceSession

app = typer.Typer()

_SERVER = files("millpond.client").joinpath("ssh_server.sh")
_IDENTITY = Annotated[
    Path | None, typer.Option("--identity", "-i", metavar="FILE", help="Private key (default: one of Millpond's own).")
]


@command(app, "ssh-config")
def ssh_config_(
    mill: Session,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]…", help="Workspaces or running jobs (default: all of yours).")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write them into the file, between two marks.")] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Remove them from the file; without NAME, all.")] = False,
    file: Annotated[Path, typer.Option(metavar="FILE", help="Configuration of ssh.")] = Path("~/.ssh/config"),
    identity: _IDENTITY = None,
) -> None:
    """Print entries for ~/.ssh/config to reach workspaces and jobs.

    `ssh mill-NAME`, scp, rsync and VS Code use them. Where the job runs, OpenSSH's server (sshd) must be installed;
    nothing listens, connections go through Millpond.

    Example: mill ssh-config --write notes
    """
    target = file.expanduser()
    if remove:
        if write:
            raise BadRequest("Give --write or --remove.")
        _remove(mill, target, names or [])
        return
    found = [_find(mill, name) for name in names] if names else _all(mill)
    if not found:
        raise NotFound(
            "No workspaces or running jobs.", hint="Create a workspace: mill workspace create NAME --size SIZE"
        )
    key = ssh_config.ensure_identity(identity)
    entries = [(one.host, ssh_config.entry(one, key)) for one in found]
    if mill.out.as_json:
        items = [{"host": one.host, "target": one.target, "user": one.user} for one in found]
        mill.out.json({"items": items, "identity": str(key), "config": "\n".join(lines for _, lines in entries)})
    elif not write:
        mill.out.line("\n".join(lines for _, lines in entries).rstrip())
        mill.out.note(f"Nothing was written. Add --write to keep this in {file}.")
    if write:
        ssh_config.write_entries(target, entries)
        mill.out.note(f"{file} has {', '.join(host for host, _ in entries)}. Try: ssh {entries[0][0]}")


@command(app, "ssh-proxy")
def ssh_proxy(
    mill: Session,
    target: Annotated[str, typer.Argument(metavar="workspace/NAME|job/JOB", help="What to connect to.")],
    host: Annotated[str, typer.Option(metavar="HOST", help="Host whose keys are written down.")],
    user: Annotated[str, typer.Option(metavar="USER", help="User whom ssh wants to be.")] = "",
    identity: _IDENTITY = None,
) -> None:
    """Connect ssh to a job, as its ProxyCommand.

    It stands in the entries that `mill ssh-config` prints. A workspace that nobody has open is opened.

    Example: mill ssh-proxy workspace/notes --host mill-notes
    """
    key = ssh_config.public_key_file(ssh_config.ensure_identity(identity)).read_text("utf-8").strip()
    job = _running(mill, target)
    command_line = ["sh", "-c", _SERVER.read_text("utf-8"), "mill-ssh", key]
    with open_exec(mill.api, mill.project, job, command_line) as stream:
        raise typer.Exit(_connect(_Bytes(stream), stream, host=host, user=user))


def _remove(mill: Session, file: Path, names: Sequence[str]) -> None:
    known = ssh_config.entries_in(file.read_text("utf-8")) if file.exists() else {}
    hosts = [f"{ssh_config.PREFIX}{name.removeprefix(ssh_config.PREFIX)}" for name in names] or list(known)
    if absent := [host for host in hosts if host not in known]:
        raise NotFound(f"{file} has no entry {absent[0]} of Millpond.", noun="entry", name=absent[0])
    ssh_config.write_entries(file, [], removed=hosts)
    for host in hosts:
        ssh_config.host_keys(host).unlink(missing_ok=True)
    mill.out.note(f"Removed {', '.join(hosts) or 'nothing'} from {file}.")


def _find(mill: Session, name: str) -> SshHost:
    """The workspace of this name, else the job."""
    try:
        found = workspaces.get_workspace(mill.api, mill.project, name)
    except NotFound:
        try:
            job = get_job(mill.api, mill.project, name)
        except NotFound as error:
            raise NotFound(f"No workspace or job {name!r} in project {mill.project!r}.", hint=error.hint) from error
        return _host(mill, f"job/{job.id}", job.name, [job.id] if job.state is JobState.RUNNING else [])
    return _host(mill, f"workspace/{found.name}", found.name, [job.id for job in found.jobs])


def _all(mill: Session) -> list[SshHost]:
    """Workspaces whose content one may have, and running jobs that have none."""
    own = [one for one in workspaces.list_workspaces(mill.api, mill.project) if one.usable]
    in_workspaces = {job.id for one in own for job in one.jobs}
    running = list_jobs(mill.api, project=mill.project, state=JobState.RUNNING.value, mine=True)
    jobs = [one for one in running if one.id not in in_workspaces]
    hosts = [_host(mill, f"workspace/{one.name}", one.name, [job.id for job in one.jobs]) for one in own]
    taken = {one.host for one in hosts}
    return hosts + [one for job in jobs if (one := _host(mill, f"job/{job.id}", job.name, [job.id])).host not in taken]


def _host(mill: Session, target: str, name: str, jobs: Sequence[str]) -> SshHost:
    user = next(filter(None, (_user_of(mill, job) for job in jobs)), f"mill-{mill.project}")
    return SshHost(target, name, mill.target.server, mill.project, user)


def _user_of(mill: Session, job: str) -> str:
    """What its account is called; empty while nobody can ask."""
    try:
        with open_exec(mill.api, mill.project, job, ["id", "-un"]) as stream:
            told = b"".join(
                message[1:] for message in stream.messages() if isinstance(message, bytes) and message[0] == STDOUT
            )
    except MillError:
        return ""
    return told.decode(errors="replace").strip()


def _running(mill: Session, target: str) -> str:
    """The job to connect to; a session is begun for a workspace that has none."""
    kind, _, name = target.partition("/")
    if kind == "job" and name:
        return name
    if kind != "workspace" or not name:
        raise BadRequest(f"{target!r} names nothing to connect to.", hint="Write workspace/NAME or job/JOB.")
    living = opening.list_sessions(mill.api, mill.project, name)
    first = sorted(living, key=lambda one: one.state is not JobState.RUNNING)[:1]
    if first:
        session: WorkspaceSession = first[0]
    else:
        session = opening.open_session(mill.api, mill.project, name, SessionKind.SHELL)
        mill.out.note(f"Opening workspace {name} by job {session.name} ({session.job}).")
    return opening.wait_until_running(mill.api, mill.project, name, session.job).job


class _Bytes:
    """What the far end writes, without the frames; its stderr is this process's."""

    def __init__(self, stream: Stream) -> None:
        self._messages = stream.messages()
        self.status: int | None = None

    def pieces(self) -> Iterator[bytes]:
        for message in self._messages:
            if isinstance(message, dict):
                if "exit" in message:
                    self.status = int(message["exit"])
                    return
            elif message[0] == STDOUT:
                yield message[1:]
            elif message[0] == STDERR:
                sys.stderr.buffer.write(message[1:])
                sys.stderr.buffer.flush()


def _connect(bytes_: _Bytes, stream: Stream, *, host: str, user: str) -> int:
    """Note the host's key, then pass bytes on in both directions; the exit status."""
    head, pieces = b"", bytes_.pieces()
    while b"\n\n" not in head:
        piece = next(pieces, None)
        if piece is None:
            return bytes_.status or 1
        head += piece
    said, _, rest = head.partition(b"\n\n")
    told: dict[str, Any] = dict(line.split(" ", 1) for line in said.decode().splitlines())
    if user and user != told["user"]:
        raise BadRequest(
            f"Jobs there run as {told['user']}, not as {user}.",
            hint=f"Run: ssh {told['user']}@{host}, or let the entry be written again: mill ssh-config --write",
        )
    write_atomically(ssh_config.host_keys(host), f"{host} {told['host']}\n".encode(), 0o600)
    _write(rest)
    threading.Thread(target=send_input, args=(stream,), daemon=True).start()
    for piece in pieces:
        _write(piece)
    if bytes_.status is None:
        raise Unavailable("The connection to the job was lost.")
    return bytes_.status


def _write(piece: bytes) -> None:
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
