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
    """List your tokens, without their secrets.

    Example: mill token list
    """
    mill.out.items(
        list_tokens(mill.api),
        [
            ("ID", lambda t: t.id),
            ("NAME", lambda t: t.name),
            ("CREATED", lambda t: t.created_at),
            ("EXPIRES", lambda t: t.expires_at),
            ("LAST USED", lambda t: t.last_used_at),
        ],
        empty="No tokens. Create one: mill token create NAME",
    )


@command(app, "create")
def create(
    mill: Session,
    name: Annotated[str, typer.Argument(help="Name, to recognize it by.")],
    expires: Annotated[str, typer.Option(metavar="TIME", help="Lifetime, like 12h or 90d; or `never`.")] = "90d",
) -> None:
    """Create a token. It is shown only now.

    Example: mill token create ci --expires 90d
    """
    token = create_token(mill.api, name, None if expires == "never" else parse_seconds(expires))
    if mill.out.as_json:
        mill.out.shape(token, [])
        return
    mill.out.note(f"Token {token.id} created. It is shown only once:")
    mill.out.line(token.secret)


@command(app, "revoke")
def revoke(mill: Session, token: Annotated[str, typer.Argument(help="Id of the token.")]) -> None:
    """Revoke a token. It stops working at once.

    Example: mill token revoke 3fa2c1
    """
    revoke_token(mill.api, token)
    mill.out.note(f"Token {token} revoked.")
