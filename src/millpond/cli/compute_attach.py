"""`mill compute attach`: a machine becomes a compute over SSH, a cluster by what `kubectl` is given."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.compute_attach_kubernetes import attach_kubernetes
from millpond.cli.output import Bytes
from millpond.cli.session import Session
from millpond.errors import SetupError
from millpond.wire.computes import Compute


def add_attach_commands(app: typer.Typer) -> None:
    attach = typer.Typer(help="Make a machine or a cluster a compute.", no_args_is_help=True)
    attach.callback()(_group)
    command(attach, "ssh")(attach_ssh)
    command(attach, "kubernetes")(attach_kubernetes)
    app.add_typer(attach, name="attach")


def attach_ssh(
    mill: Session,
    machine: Annotated[str, typer.Argument(metavar="USER@HOST", help="The machine.")],
    site: Annotated[str, typer.Option(help="The site it is at.")] = "local",
    port: Annotated[int, typer.Option(help="Where its SSH server listens.", min=1, max=65535)] = 22,
    identity: Annotated[
        Path | None, typer.Option(help="The private key.", show_default="those of ssh-agent and ~/.ssh")
    ] = None,
    python: Annotated[str | None, typer.Option(help="Its Python, 3.11 or newer.", show_default="found there")] = None,
    node: Annotated[str | None, typer.Option(help="What it is called.", show_default="its host name")] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="The server as seen from there.", show_default="as from here")
    ] = None,
    known_hosts: Annotated[Path | None, typer.Option(help="Where host keys are.", show_default="~/.ssh")] = None,
    accept_new_host_key: Annotated[
        bool, typer.Option("--accept-new-host-key", help="Trust a host that is not known yet, and remember its key.")
    ] = False,
) -> None:
    """Copy Millpond to a machine over SSH, start its agent there, and wait until it has reported.

    The machine needs Python 3.11 or newer and a way to the server; no internet if it is of the same kind as this one.
    The agent stays when the connection ends. Your key is used and kept nowhere.
    """
    # An extra, and large: only who attaches pays for it.
    try:
        from millpond.client.attach.attach import Plan, attach  # noqa: PLC0415
        from millpond.client.attach.ssh import Address, parse_address  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SetupError("Attaching over SSH needs asyncssh.", hint="Run: pip install 'millpond[ssh]'") from error
    user, host = parse_address(machine)
    address = Address(host, user, port, identity, known_hosts, accept_new_host_key)
    options = ("--node", node) if node else ()
    plan = Plan(address, site, (url or mill.api.base_url).rstrip("/"), python, options)
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
