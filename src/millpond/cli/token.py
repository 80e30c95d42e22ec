"""`mill token`: API tokens of one's own."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.people import create_token, list_tokens, revoke_token
from millpond.model.quantity import parse_seconds

app = typer.Typer()


@command(app, "list")
def list_all(mill: Session) -> None:
    """List your tokens; their secrets are not kept anywhere."""
    mill.out.items(
        list_tokens(mill.api),
        [
            ("ID", lambda t: t.id),
            ("NAME", lambda t: t.name),
            ("CREATED", lambda t: t.created_at),
            ("EXPIRES", lambda t: t.expires_at),
            ("LAST USED", lambda t: t.last_used_at),
        ],
        empty="You have no tokens. Make one: mill token create NAME",
    )


@command(app, "create")
def create(
    mill: Session,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    expires: Annotated[str, typer.Option(metavar="TIME", help="How long it lives, like 12h or 90d; never.")] = "90d",
) -> None:
    """Make a token. It is printed this once and cannot be shown again."""
    token = create_token(mill.api, name, None if expires == "never" else parse_seconds(expires))
    if mill.out.as_json:
        mill.out.shape(token, [])
        return
    mill.out.note(f"Token {token.id} made; this is the only time it is shown:")
    mill.out.line(token.secret)


@command(app, "revoke")
def revoke(mill: Session, token: Annotated[str, typer.Argument(help="The token's id.")]) -> None:
    """Take a token back; whoever uses it is signed out at once."""
    revoke_token(mill.api, token)
    mill.out.note(f"Token {token} revoked.")
