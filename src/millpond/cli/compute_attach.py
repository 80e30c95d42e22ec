"""`mill compute attach`: a machine becomes a compute over SSH, a cluster by what `kubectl` is given."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.compute_attach_kubernetes import attach_kubernetes
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.errors import SetupError
from millpond.wire.computes import Compute


def add_attach_commands(app: typer.Typer) -> None:
    attach = typer.Typer(help="Attach a machine or a cluster as a compute.", no_args_is_help=True)
    attach.callback()(_group)
    command(attach, "ssh")(attach_ssh)
    command(attach, "kubernetes")(attach_kubernetes)
    app.add_typer(attach, name="attach")


def attach_ssh(
    mill: Session,
    machine: Annotated[str, typer.Argument(metavar="USER@HOST", help="Machine to attach.")],
    site: Annotated[str, typer.Option(help="Site of the machine.")] = "local",
    port: Annotated[int, typer.Option(help="Port of its SSH server.", min=1, max=65535)] = 22,
    identity: Annotated[
        Path | None, typer.Option(help="Private key.", show_default="those of ssh-agent and ~/.ssh")
    ] = None,
    python: Annotated[
        str | None, typer.Option(help="Python 3.11 or newer on the machine.", show_default="searched for")
    ] = None,
    node: Annotated[str | None, typer.Option(help="Name of the compute.", show_default="its host name")] = None,
    compute: Annotated[
        str | None, typer.Option(help="Re-attach this compute: it keeps its history, settings and trust.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="URL of the server as seen from the machine.", show_default="the URL used here"
        ),
    ] = None,
    known_hosts: Annotated[Path | None, typer.Option(help="File with known host keys.", show_default="~/.ssh")] = None,
    accept_new_host_key: Annotated[
        bool, typer.Option("--accept-new-host-key", help="Trust an unknown host and remember its key.")
    ] = False,
) -> None:
    """Copy Millpond to a machine over SSH, start an agent there and wait until it reports.

    The machine needs Python 3.11 or newer and a connection to the server. It needs no internet access if it has the
    same platform as this one. The agent keeps running when the connection ends. Your key is not stored.

    Example: mill compute attach ssh ada@gpu1 --site lab
    """
    # An extra, and large: only who attaches pays for it.
    try:
        from millpond.client.attach.attach import AttachPlan, attach  # noqa: PLC0415
        from millpond.client.attach.ssh import Address, parse_address  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SetupError("Attaching over SSH needs asyncssh.", hint="Run: pip install 'millpond[ssh]'") from error
    user, host = parse_address(machine)
    address = Address(host, user, port, identity, known_hosts, accept_new_host_key)
    options = ("--node", node) if node else ()
    plan = AttachPlan(address, site, (url or mill.api.base_url).rstrip("/"), python, options, compute)
    _show(mill, asyncio.run(attach(mill.api, plan, mill.out.note)))


def _show(mill: Session, found: Compute) -> None:
    mill.out.note(f"Compute {found.name} is attached at site {found.site}. Test it: mill compute test {found.name}")
    mill.out.shape(
        found,
        [
            ("compute", found.name),
            ("site", found.site),
            ("health", found.health),
            ("CPUs", found.cpus),
            ("memory", Bytes(found.memory_bytes)),
            ("GPUs", found.gpus),
            ("version", found.version),
        ],
    )


def _group() -> None:
    """Make a machine or a cluster a compute."""
