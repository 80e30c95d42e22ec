"""`mill endpoint token`: tokens that let programs use one endpoint."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.endpoint_arguments import EndpointName
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.client import endpoints as calls
from millpond.model.quantity import parse_seconds
from millpond.wire.endpoints import EndpointToken

app = typer.Typer(help="Manage tokens that let programs use an endpoint.")


@command(app, "create")
def create(
    mill: Session,
    endpoint: EndpointName,
    name: Annotated[str, typer.Option(help="Name, by which it is listed and revoked.")] = "token",
    expires: Annotated[str, typer.Option(metavar="TIME", help="Lifetime, like 12h or 30d.")] = "30d",
    quota: Annotated[int, typer.Option(min=0, help="Most requests per minute (default: as the endpoint says).")] = 0,
) -> None:
    """Create a token for an endpoint and print it, once.

    Example: mill endpoint token create xray --expires 30d --quota 600
    """
    seconds = parse_seconds(expires, least=60)
    made = calls.create_token(mill.api, mill.project, endpoint, name, expires_seconds=seconds, quota=quota)
    mill.out.note(f"Token {made.name} ({made.id}) is valid until {made.expires_at:%Y-%m-%d %H:%M} UTC. Keep it:")
    if mill.out.as_json:
        mill.out.shape(made, [])
    else:
        mill.out.line(made.secret or "")


@command(app, "list")
def list_all(mill: Session, endpoint: EndpointName) -> None:
    """List the tokens of an endpoint, newest first.

    Example: mill endpoint token list xray
    """
    columns: list[Column[EndpointToken]] = [
        ("ID", lambda t: t.id),
        ("NAME", lambda t: t.name),
        ("QUOTA", lambda t: t.quota or None),
        ("EXPIRES", lambda t: t.expires_at),
        ("REVOKED", lambda t: t.revoked_at),
        ("CREATED", lambda t: t.created_at),
        ("BY", lambda t: t.created_by),
    ]
    empty = f"No tokens yet. Create one: mill endpoint token create {endpoint}"
    mill.out.items(calls.list_tokens(mill.api, mill.project, endpoint), columns, empty=empty)


@command(app, "revoke")
def revoke(
    mill: Session,
    endpoint: EndpointName,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Id or name of the token.")],
) -> None:
    """Revoke a token. Routers refuse it from their next contact with the server on.

    Example: mill endpoint token revoke xray ci
    """
    calls.revoke_token(mill.api, mill.project, endpoint, token)
    mill.out.note(f"Token {token} revoked.")
