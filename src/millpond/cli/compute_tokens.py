"""`mill compute token`, `tokens`, `revoke-token`: with which agents join."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client import computes
from millpond.errors import BadRequest
from millpond.model.quantity import parse_seconds
from millpond.wire.computes import JoinToken


def add_token_commands(app: typer.Typer) -> None:
    command(app, "token")(create)
    command(app, "tokens")(list_all)
    command(app, "revoke-token")(revoke)


def create(
    mill: Session,
    site: Annotated[str | None, typer.Option(help="Site of the new compute.", show_default="local")] = None,
    compute: Annotated[
        str | None, typer.Option(help="Re-attach this compute: it keeps its history, settings and trust.")
    ] = None,
    lives: Annotated[str, typer.Option("--for", metavar="TIME", help="Lifetime of the token, like 1h.")] = "1h",
) -> None:
    """Create a join token, which lets one agent join a site, once. It is shown only now.

    With --compute, the agent speaks for a compute that is known: after its credential was revoked, or its machine
    reinstalled.

    Example: mill compute token --site lab > join-token
    """
    if site and compute:
        raise BadRequest("Use either --site or --compute.", hint="A compute stays at its site.")
    place = None if compute else site or "local"
    token = computes.create_join_token(mill.api, place, compute=compute, seconds=int(parse_seconds(lives)))
    if mill.out.as_json:
        mill.out.shape(token, [])
        return
    target = f"compute {compute}" if compute else f"site {token.site}"
    mill.out.note(f"Join token {token.id} for {target} created. It is shown only once:")
    mill.out.line(token.secret)
    mill.out.note("Save it to a file on the machine (chmod 600) and start the agent there:")
    mill.out.note(f"  mill agent --server {mill.api.base_url} --token-file FILE --site {token.site}")


def list_all(mill: Session) -> None:
    """List join tokens, without their secrets.

    Example: mill compute tokens
    """
    mill.out.items(
        computes.list_join_tokens(mill.api),
        [
            ("ID", lambda token: token.id),
            ("SITE", lambda token: token.site),
            ("STATE", _state),
            ("COMPUTE", lambda token: token.compute),
            ("CREATED BY", lambda token: token.created_by),
            ("CREATED", lambda token: token.created_at),
            ("EXPIRES", lambda token: token.expires_at),
        ],
        empty="No join tokens. Create one: mill compute token --site SITE",
    )


def revoke(mill: Session, token: Annotated[str, typer.Argument(help="Id of the join token.")]) -> None:
    """Revoke a join token. To revoke an agent that has joined with it, use `mill compute revoke`.

    Example: mill compute revoke-token 3fa2c1
    """
    computes.revoke_join_token(mill.api, token)
    mill.out.note(f"Join token {token} revoked.")


def _state(token: JoinToken) -> str:
    if token.used_at is not None:
        return "used"
    return "expired" if token.expires_at <= datetime.now(UTC) else "open"
