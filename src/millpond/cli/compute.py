"""`mill compute`: what jobs run on: looked at, tested, kept free of new work, let go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.compute_attach import add_attach_commands
from millpond.cli.compute_tokens import add_token_commands
from millpond.cli.compute_trust import add_trust_commands, trust_words
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client import computes
from millpond.errors import MillError, NotReady
from millpond.model.quantity import format_bytes, format_count, format_gpus, parse_seconds
from millpond.wire.computes import Capabilities, Check, Compute, Node

app = typer.Typer()
add_token_commands(app)
add_attach_commands(app)
add_trust_commands(app)

Row = tuple[Compute, Node | None]
Name = Annotated[str, typer.Argument(help="Name of the compute.")]


@command(app, "list")
def list_all(mill: Session) -> None:
    """List computes and their nodes, with current use.

    Example: mill compute list
    """
    found = list(computes.list_computes(mill.api))
    if mill.out.as_json:
        mill.out.items(found, [], empty="")
        return
    rows: list[Row] = [(compute, node) for compute in found for node in _nodes(compute)]
    columns: list[Column[Row]] = [
        ("COMPUTE", lambda row: row[0].name),
        ("SITE", lambda row: row[0].site),
        ("DRIVER", lambda row: row[0].driver),
        ("HEALTH", lambda row: row[0].health),
        ("NODE", lambda row: row[1].name if row[1] else None),
        ("CPUS", lambda row: f"{row[1].cpu_used}/{row[1].cpus}" if row[1] else None),
        ("MEMORY", lambda row: _memory(row[1]) if mill.out.for_people else _total_memory(row[1])),
        ("GPUS", lambda row: _gpus(row[1])),
        ("DECLARED", lambda row: row[1].declared if row[1] else None),
        ("RUNNING", lambda row: row[1].running if row[1] else None),
        ("SEEN", lambda row: row[0].seen_at),
    ]
    mill.out.items(
        rows,
        columns,
        empty="No computes yet. `mill up` starts an agent for its machine; attach others: mill compute attach --help",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a compute: nodes, capabilities of its driver, current use.

    Example: mill compute show gpu1
    """
    _show(mill, computes.get_compute(mill.api, name))


@command(app, "cordon")
def cordon(mill: Session, name: Name) -> None:
    """Cordon a compute: no new jobs are placed there, running jobs continue.

    Example: mill compute cordon gpu1
    """
    found = computes.cordon_compute(mill.api, name)
    mill.out.note(f"Compute {name} is cordoned: no new jobs. {_jobs(found)} there. Undo: mill compute uncordon {name}")
    _show(mill, found)


@command(app, "uncordon")
def uncordon(mill: Session, name: Name) -> None:
    """Allow new jobs on a compute again.

    Example: mill compute uncordon gpu1
    """
    found = computes.uncordon_compute(mill.api, name)
    mill.out.note(f"Compute {name} accepts jobs again.")
    _show(mill, found)


@command(app, "drain")
def drain(
    mill: Session,
    name: Name,
    stop: Annotated[bool, typer.Option("--stop", help="Stop its jobs instead of waiting for them to finish.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until no jobs run there.")] = True,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Maximum time to wait, like 2h.")] = None,
) -> None:
    """Cordon a compute and wait until its jobs have ended.

    Example: mill compute drain gpu1 --timeout 2h
    """
    found = computes.drain_compute(mill.api, name, stop=stop)
    if wait and found.running:
        seconds = parse_seconds(timeout) if timeout else None
        found = computes.wait_until_empty(
            mill.api, name, timeout=seconds, changed=lambda now: mill.out.note(f"{_jobs(now)} on {name}.")
        )
    if wait and found.running:
        raise NotReady(
            f"{_jobs(found)} on compute {name!r} after {timeout}.",
            hint=f"It stays cordoned. Wait again, or stop the jobs: mill compute drain {name} --stop",
        )
    mill.out.note(f"Compute {name} is cordoned; {_jobs(found).lower()} there.")
    _show(mill, found)


@command(app, "revoke")
def revoke(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Revoke the credential of a compute's agent. The agent is refused and exits; the compute stays listed.

    Example: mill compute revoke gpu1
    """
    mill.confirm(f"Revoke the credential of compute {name}?", yes=yes)
    found = computes.revoke_compute(mill.api, name)
    mill.out.note(f"Credential of compute {name} revoked. Re-attach it: mill compute token --compute {name}")
    _show(mill, found)


@command(app, "detach")
def detach(
    mill: Session,
    name: Name,
    force: Annotated[
        bool,
        typer.Option("--force", help="Detach although jobs run there. They are placed again once their lease expires."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Detach a compute: revoke its credential and remove it. Refused while jobs run there.

    Example: mill compute detach gpu1
    """
    mill.confirm(f"Detach compute {name}?", yes=yes)
    computes.detach_compute(mill.api, name, force=force)
    mill.out.note(f"Compute {name} detached. Its agent will exit.")


@command(app, "test")
def test(
    mill: Session,
    name: Name,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="Maximum time to wait for the agent, like 1m.")] = "2m",
) -> None:
    """Test a compute: connection to the server, clock, speed of lake and volumes, GPUs.

    Example: mill compute test gpu1
    """
    found = computes.run_compute_test(mill.api, name, timeout=parse_seconds(timeout))
    if mill.out.as_json:
        mill.out.shape(found, [])
    else:
        columns: list[Column[Check]] = [
            ("CHECK", lambda check: check.name),
            ("STATE", lambda check: check.state),
            ("FOUND", lambda check: check.message),
        ]
        mill.out.items(found.checks, columns, empty="The agent did not answer.")
    failed = [check.name for check in found.checks if check.state == "failed"]
    if failed:
        raise MillError(f"Tests failed on compute {name!r}: {', '.join(failed)}.", hint="See the results above.")


def _show(mill: Session, found: Compute) -> None:
    mill.out.shape(
        found,
        [
            ("compute", found.name),
            ("kind", found.kind),
            ("site", found.site),
            ("driver", found.driver),
            *(_abilities(found.capabilities) if found.capabilities else ()),
            ("trust", trust_words(found.trust)),
            ("health", found.health),
            ("cordoned", f"by {found.cordoned_by}" if found.cordoned else None),
            ("version", found.version),
            ("seen", found.seen_at),
            ("running", found.running),
            *(("node", _node_text(node)) for node in found.nodes),
        ],
    )


def _abilities(able: Capabilities) -> list[tuple[str, Any]]:
    shares = {"none": "whole GPUs only", "accounted": "fractions, not enforced", "enforced": "fractions, enforced"}
    also = {
        "distributed jobs": able.gangs, "MPI": able.mpi, "endpoints": able.services,
        "routers of endpoints": able.routers, "ports": able.ports, "exec": able.exec,
    }  # fmt: skip
    return [
        ("containers", able.containers),
        ("image", able.default_image),
        ("limits", "enforced" if able.limits_enforced else "limits not enforced"),
        ("GPUs", shares[able.gpu_fractions]),
        ("also", ", ".join(name for name, can in also.items() if can) or None),
        ("job options", ", ".join(able.job_options) or None),
    ]


def _node_text(node: Node) -> str:
    parts = [f"{node.cpu_used}/{node.cpus} CPUs", _memory(node)]
    parts += [f"{_gpus(node)} GPUs"] if node.gpus else []
    parts += [f"{format_bytes(node.gpu_memory_bytes)} each"] if node.gpus and node.gpu_memory_bytes else []
    parts += ["declared"] if node.declared else []
    parts += ["left; its jobs still run"] if node.left_at else [f"closed: {node.closed}"] if node.closed else []
    parts += [f"{key}={value}" for key, value in sorted(node.labels.items())]
    return f"{node.name}: {', '.join(part for part in parts if part)}"


def _jobs(compute: Compute) -> str:
    return f"{format_count(compute.running, 'job') if compute.running else 'No jobs'} running"


def _nodes(compute: Compute) -> Sequence[Node | None]:
    return compute.nodes or [None]


def _memory(node: Node | None) -> str | None:
    return f"{format_bytes(node.memory_used_bytes)}/{format_bytes(node.memory_bytes)}" if node else None


def _total_memory(node: Node | None) -> Bytes | None:
    return Bytes(node.memory_bytes) if node else None


def _gpus(node: Node | None) -> Any:
    if node is None or not node.gpus:
        return None
    return f"{format_gpus(node.gpu_used_hundredths)}/{node.gpus} {node.gpu_model}".strip()
