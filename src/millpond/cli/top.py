"""`mill top`: nodes and running jobs, live."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.cli.values import Bytes, Seconds
from millpond.client.computes import get_top
from millpond.model.quantity import format_bytes, parse_seconds
from millpond.wire.top import Top, TopJob, TopNode

app = typer.Typer()

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_NODES: list[Column[TopNode]] = [
    ("NODE", lambda n: n.compute if n.compute == n.node else f"{n.compute}/{n.node}"),
    ("JOBS", lambda n: n.jobs),
    ("GPUs", lambda n: f"{n.gpus_allocated:g}/{n.gpus}" if n.gpus else None),
    ("IDLE", lambda n: f"{n.gpus_idle:g}" if n.gpus else None),
    ("GPU %", lambda n: _percent(n.gpu_percent)),
    ("CPUs", lambda n: f"{n.cpus_used:.1f}/{n.cpus}"),
    ("MEMORY", lambda n: f"{format_bytes(n.memory_used_bytes)}/{format_bytes(n.memory_bytes)}"),
    ("SITE", lambda n: n.site),
]


@command(app, "top")
def top(
    mill: Session,
    every: Annotated[
        str, typer.Option("--every", metavar="TIME", help="Time between two updates on a terminal.")
    ] = "2s",
    once: Annotated[bool, typer.Option("--once", help="Print once and exit.")] = False,
) -> None:
    """Show nodes and running jobs with their GPUs, CPUs and memory.

    On a terminal it refreshes until Ctrl-C. GPUs are allocated/all; IDLE ones are allocated and have done nothing for
    five minutes; CPUs and memory are used/all.

    Example: mill top --every 5s
    """
    pause = max(1, parse_seconds(every))
    if mill.out.as_json:
        mill.out.shape(get_top(mill.api), [])
    elif once or not mill.out.for_people:
        _draw(mill, get_top(mill.api))
    else:
        _refresh(mill, pause)


def _refresh(mill: Session, pause: int) -> None:
    mill.out.quiet = True  # columns that do not fit are left out again and again
    try:
        while True:
            found = get_top(mill.api)
            mill.out.stdout.write(_CLEAR)
            _draw(mill, found)
            mill.out.stdout.flush()
            time.sleep(pause)
    except KeyboardInterrupt:
        raise typer.Exit from None


def _draw(mill: Session, found: Top) -> None:
    # The same moment for all rows.
    now = time.time()
    jobs: list[Column[TopJob]] = [
        ("JOB", lambda j: j.name),
        ("PROJECT", lambda j: j.project),
        ("USER", lambda j: j.user),
        ("NODE", lambda j: j.node),
        ("TIME", lambda j: Seconds(now - j.started_at.timestamp()) if j.started_at else None),
        ("GPUs", lambda j: f"{j.gpus:g}" if j.gpus else None),
        ("GPU %", lambda j: "idle" if j.idle else _percent(j.gpu_percent)),
        ("CPUs", lambda j: None if j.cpus_used is None else f"{j.cpus_used:.1f}"),
        ("MEMORY", lambda j: None if j.memory_used_bytes is None else Bytes(j.memory_used_bytes)),
        ("ID", lambda j: j.id),
    ]
    mill.out.items(found.nodes, _NODES, empty="No compute is connected.", drop=("SITE", "JOBS"))
    if mill.out.for_people:
        mill.out.line("")
    mill.out.items(found.jobs, jobs, empty="No running jobs.", drop=("ID", "USER", "PROJECT"))


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{value:.0f}"
