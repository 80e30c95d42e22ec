"""Options of `mill submit` as Run:AI's command line calls them, translated into ours (docs/run-ai.md)."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from millpond.errors import BadRequest

_PANEL = "As in Run:AI"
# The label by which Run:AI's clusters tell types of nodes apart.
NODE_TYPE = "run.ai/type"
# All of them lead to the same here: a port is reached through the page, or by `mill port-forward`.
_SERVICE_TYPES = ("portforward", "nodeport", "ingress", "loadbalancer")

Command = Annotated[
    str | None,
    typer.Option("--command", metavar="TEXT", help="Command, if not given after --.", rich_help_panel=_PANEL),
]
Arguments = Annotated[
    list[str] | None,
    typer.Option("--args", metavar="TEXT", help="Arguments of --command. Repeatable.", rich_help_panel=_PANEL),
]
ServiceType = Annotated[
    str | None,
    typer.Option(
        "--service-type",
        metavar="TYPE",
        help="portforward, nodeport, ingress or loadbalancer: ports open in a browser for all of them.",
        rich_help_panel=_PANEL,
    ),
]
NodeType = Annotated[
    str | None,
    typer.Option(
        "--node-type", metavar="TYPE", help=f"Same as --node-selector {NODE_TYPE}=TYPE.", rich_help_panel=_PANEL
    ),
]
LocalImage = Annotated[
    bool,
    typer.Option(
        "--local-image", help="Accepted for scripts: images on the node are always preferred.", rich_help_panel=_PANEL
    ),
]


def command_of(after_dashes: list[str], command: str | None, arguments: list[str] | None) -> list[str]:
    """The command from after `--`, or from `--command` and `--args`."""
    if not command:
        if arguments:
            raise BadRequest("--args needs --command.", hint="Or write the command after --: -- python train.py")
        return after_dashes
    if after_dashes:
        raise BadRequest("Cannot combine --command with a command after --.", hint="Remove one of them.")
    return [*shlex.split(command), *(word for text in arguments or [] for word in shlex.split(text))]


def without_bare_command(own: list[str], after_dashes: list[str]) -> list[str]:
    """Drop `--command` where it is a flag: `--command -- python train.py`."""
    return own[:-1] if after_dashes and own[-1:] == ["--command"] else own


def parse_port(text: str) -> int:
    """`8888`, or `80:8888` as Run:AI writes it: the port inside the job counts."""
    try:
        port = int(text.rpartition(":")[2])
    except ValueError:
        port = 0
    if not 1 <= port <= 65_535:
        raise BadRequest(f"{text!r} is not a port.", hint="Ports are numbers from 1 to 65535.")
    return port


def check_service_type(service_type: str | None, ports: list[str] | None) -> None:
    if service_type is None:
        return
    if service_type.lower() not in _SERVICE_TYPES:
        raise BadRequest(f"Unknown service type {service_type!r}.", hint=f"Choose from {', '.join(_SERVICE_TYPES)}.")
    if not ports:
        raise BadRequest("--service-type needs --port.", hint="Add --port N.")


def selector_of(selector: dict[str, str], node_type: str | None) -> dict[str, str]:
    return selector if node_type is None else {**selector, NODE_TYPE: node_type}
