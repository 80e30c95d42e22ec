"""`mill bash`, `mill exec`, `mill port-forward`: reach a running job, wherever it runs."""

from __future__ import annotations

import os
import select
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.streams import STDERR, STDIN, STDOUT, Stream, open_exec, open_port
from millpond.errors import BadRequest, MillError, Unavailable

app = typer.Typer()

PIECE = 1 << 16
_SHELL = ["sh", "-c", "if command -v bash >/dev/null; then exec bash; else exec sh; fi"]
_Job = Annotated[str, typer.Argument(metavar="JOB", help="Running job: NAME, NAME#N or id.")]
_Rank = Annotated[int, typer.Option("--rank", min=0, help="Rank of a distributed job.")]


@command(app, "bash")
def bash(mill: Session, job: _Job, rank: _Rank = 0) -> None:
    """Open a shell in a running job, with its files, environment and account.

    Example: mill bash train
    """
    if not sys.stdin.isatty():
        raise BadRequest("A shell needs a terminal.", hint=f"Without a terminal: mill exec {job} -- COMMAND")
    raise typer.Exit(_run(mill, (job, rank), _SHELL, on_terminal=True))


@command(app, "exec")
def exec_(
    mill: Session,
    job: _Job,
    arguments: Annotated[list[str], typer.Argument(metavar="-- COMMAND…", help="Command and its arguments.")],
    terminal: Annotated[bool, typer.Option("--tty", "-t", help="Allocate a terminal.")] = False,
    rank: _Rank = 0,
) -> None:
    """Run a command next to a running job. `mill exec` exits with the command's exit code.

    Example: mill exec train -- nvidia-smi
    """
    if terminal and not sys.stdin.isatty():
        raise BadRequest("--tty needs a terminal.")
    raise typer.Exit(_run(mill, (job, rank), arguments, on_terminal=terminal))


@command(app, "port-forward")
def port_forward(
    mill: Session,
    job: _Job,
    ports: Annotated[str, typer.Argument(metavar="[LOCAL:]PORT", help="Local port and port of the job.")],
    host: Annotated[str, typer.Option("--host", help="Local address to listen on.")] = "127.0.0.1",
    rank: _Rank = 0,
) -> None:
    """Forward a local port to a running job, until Ctrl-C.

    Example: mill port-forward notebook 8888
    """
    local, remote = _parse_ports(ports)
    with socket.create_server((host, local)) as listening:
        chosen = listening.getsockname()[1]
        mill.out.note(f"Forwarding http://{host}:{chosen} to port {remote} of {job}. Stop with Ctrl-C.")
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_forward, args=(mill, (job, rank), remote, connection), daemon=True).start()


def _run(mill: Session, place: tuple[str, int], arguments: list[str], *, on_terminal: bool) -> int:
    size = shutil.get_terminal_size()
    terminal = (size.columns, size.lines) if on_terminal else None
    job, rank = place
    with open_exec(mill.api, mill.project, job, arguments, terminal=terminal, rank=rank) as stream:
        for message in stream.messages():
            if isinstance(message, dict) and "opened" in message:
                with _raw(stream) if on_terminal else _nothing():
                    return _talk(stream)
    raise Unavailable("The job ended before the command started.")


def _talk(stream: Stream) -> int:
    """Pass input and output on; return the exit status."""
    threading.Thread(target=send_input, args=(stream,), daemon=True).start()
    outputs = {STDOUT: sys.stdout.buffer, STDERR: sys.stderr.buffer}
    for message in stream.messages():
        if isinstance(message, dict):
            if "exit" in message:
                return int(message["exit"])
        elif message[0] in outputs:
            outputs[message[0]].write(message[1:])
            outputs[message[0]].flush()
    raise Unavailable("The connection to the job was lost before the command ended.")


def send_input(stream: Stream) -> None:
    """Send stdin, and its end."""
    with suppress(Unavailable, OSError, ValueError):
        descriptor = sys.stdin.fileno()
        while True:
            select.select([descriptor], [], [])
            data = os.read(descriptor, PIECE)
            stream.send(bytes([STDIN]) + data)
            if not data:
                return


def _raw(stream: Stream) -> AbstractContextManager[None]:
    # Imported here: there are no such terminals on Windows, where `exec` and `port-forward` work all the same.
    from millpond.cli.raw_terminal import raw_terminal  # noqa: PLC0415

    return raw_terminal(stream)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _parse_ports(text: str) -> tuple[int, int]:
    local, colon, remote = text.rpartition(":")
    try:
        numbers = (int(local) if colon else int(remote), int(remote))
    except ValueError:
        raise BadRequest(f"{text!r} is not a port.", hint="Write 8888, or 9000:8888 for another local port.") from None
    if not all(0 <= number < 1 << 16 for number in numbers) or numbers[1] == 0:
        raise BadRequest(f"{text!r} is not a port.", hint="Ports are numbers up to 65535.")
    return numbers


def _forward(mill: Session, place: tuple[str, int], port: int, connection: socket.socket) -> None:
    """Serve one connection; runs in its own thread."""
    job, rank = place
    with connection:
        try:
            with open_port(mill.api, mill.project, job, port, rank=rank) as stream:
                _pass_both_ways(stream, connection)
        except (MillError, OSError) as error:
            mill.out.note(f"port {port} of {job}: {error}")


def _pass_both_ways(stream: Stream, connection: socket.socket) -> None:
    def inwards() -> None:
        with suppress(Unavailable, OSError):
            while data := connection.recv(PIECE):
                stream.send(data)
            stream.send(b"")

    threading.Thread(target=inwards, daemon=True).start()
    for message in stream.messages():
        if isinstance(message, dict):
            continue
        if message:
            connection.sendall(message)
        else:
            connection.shutdown(socket.SHUT_WR)
