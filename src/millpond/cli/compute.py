"""`mill compute`: what jobs run on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from millpond.cli.command import command
from millpond.cli.output import Bytes, Column
from millpond.cli.session import Session
from millpond.client.jobs import list_computes
from millpond.model.quantity import format_bytes, format_gpus
from millpond.wire.work import Compute, Node

app = typer.Typer()

Row = tuple[Compute, Node | None]


@command(app, "list")
def list_all(mill: Session) -> None:
    """List computes and their nodes, with what is in use."""
    computes = list(list_computes(mill.api))
    if mill.out.as_json:
        mill.out.items(computes, [], empty="")
        return
    rows: list[Row] = [(compute, node) for compute in computes for node in _nodes(compute)]
    columns: list[Column[Row]] = [
        ("COMPUTE", lambda row: row[0].name),
        ("SITE", lambda row: row[0].site),
        ("DRIVER", lambda row: row[0].driver),
        ("CONNECTED", lambda row: row[0].connected),
        ("NODE", lambda row: row[1].name if row[1] else None),
        ("CPUS", lambda row: _used(row[1], "cpu_used", "cpus")),
        ("MEMORY", lambda row: _memory(row[1]) if mill.out.for_people else _total_memory(row[1])),
        ("GPUS", lambda row: _gpus(row[1])),
        ("RUNNING", lambda row: row[1].running if row[1] else None),
        ("SEEN", lambda row: row[0].seen_at),
    ]
    mill.out.items(rows, columns, empty="No compute is attached. `mill up` starts an agent for this machine.")


def _nodes(compute: Compute) -> Sequence[Node | None]:
    return compute.nodes or [None]


def _used(node: Node | None, used: str, total: str) -> Any:
    return f"{getattr(node, used)}/{getattr(node, total)}" if node else None


def _memory(node: Node | None) -> str | None:
    return f"{format_bytes(node.memory_used_bytes)}/{format_bytes(node.memory_bytes)}" if node else None


def _total_memory(node: Node | None) -> Bytes | None:
    return Bytes(node.memory_bytes) if node else None


def _gpus(node: Node | None) -> str | None:
    if node is None or not node.gpus:
        return None
    declared = ", declared" if node.declared else ""
    return f"{format_gpus(node.gpu_used_hundredths)}/{node.gpus} {node.gpu_model}{declared}".strip()
