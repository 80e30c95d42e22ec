"""`mill compute token`, `tokens`, `revoke-token`: with which agents come in."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client import computes
from millpond.model.quantity import parse_seconds
from millpond.wire.computes import JoinToken


def add_token_commands(app: typer.Typer) -> None:
    command(app, "token")(create)
    command(app, "tokens")(list_all)
    command(app, "revoke-token")(revoke)


def create(
    mill: Session,
    site: Annotated[str, typer.Option(help="The site the agent will be at.")] = "local",
    lives: Annotated[str, typer.Option("--for", metavar="TIME", help="How long it can be used, like 1h.")] = "1h",
) -> None:
    """Make a join token: it lets one agent in at a site, once. It is printed this once and cannot be shown again."""
    token = computes.create_join_token(mill.api, site, seconds=int(parse_seconds(lives)))
    if mill.out.as_json:
        mill.out.shape(token, [])
        return
    mill.out.note(f"Join token {token.id} for site {token.site} made; this is the only time it is shown:")
    mill.out.line(token.secret)
    mill.out.note("Put it into a file on the machine (chmod 600), and start its agent there:")
    mill.out.note(f"  mill agent --server {mill.api.base_url} --token-file FILE --site {token.site}")


def list_all(mill: Session) -> None:
    """List join tokens; their secrets are not kept anywhere."""
    mill.out.items(
        computes.list_join_tokens(mill.api),
        [
            ("ID", lambda token: token.id),
            ("SITE", lambda token: token.site),
            ("STATE", _state),
            ("COMPUTE", lambda token: token.compute),
            ("MADE BY", lambda token: token.created_by),
            ("CREATED", lambda token: token.created_at),
            ("EXPIRES", lambda token: token.expires_at),
        ],
        empty="There are no join tokens. Make one: mill compute token --site SITE",
    )


def revoke(mill: Session, token: Annotated[str, typer.Argument(help="The join token's id.")]) -> None:
    """Take a join token back. An agent that came in with it stays: see `mill compute revoke`."""
    computes.revoke_join_token(mill.api, token)
    mill.out.note(f"Join token {token} revoked.")


def _state(token: JoinToken) -> str:
    if token.used_at is not None:
        return "used"
    return "expired" if token.expires_at <= datetime.now(UTC) else "open"
