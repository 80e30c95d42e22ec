"""`mill token`: API tokens of one's own, and of service accounts."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.people import create_token, list_tokens, revoke_token
from millpond.model.people import TokenScope
from millpond.model.quantity import parse_seconds

app = typer.Typer()

OfUser = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Whose; for site administrators.")]


@command(app, "list")
def list_all(mill: Session, user: OfUser = None) -> None:
    """List your tokens, without their secrets.

    Example: mill token list
    """
    mill.out.items(
        list_tokens(mill.api, user),
        [
            ("ID", lambda t: t.id),
            ("NAME", lambda t: t.name),
            ("SCOPES", lambda t: "all" if t.scopes is None else ",".join(scope.value for scope in t.scopes)),
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
    scope: Annotated[
        list[TokenScope] | None,
        typer.Option(help="What it may be used for; repeat for several. Each includes reading.", show_default="all"),
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", metavar="NAME", help="Service account it is for (site administrators).")
    ] = None,
) -> None:
    """Create a token. It is shown only now.

    Scopes: `read` data and everything else; `data` changes datasets, caches and workspaces; `submit` runs jobs, flows
    and endpoints and logs runs; `admin` is everything you may do.

    Example: mill token create ci --expires 90d --scope submit
    """
    seconds = None if expires == "never" else parse_seconds(expires)
    token = create_token(mill.api, name, seconds, scopes=scope, user=user)
    if mill.out.as_json:
        mill.out.shape(token, [])
        return
    mill.out.note(f"Token {token.id} created. It is shown only once:")
    mill.out.line(token.secret)


@command(app, "revoke")
def revoke(mill: Session, token: Annotated[str, typer.Argument(help="Id of the token.")], user: OfUser = None) -> None:
    """Revoke a token. It stops working at once.

    Example: mill token revoke 3fa2c1
    """
    revoke_token(mill.api, token, user)
    mill.out.note(f"Token {token} revoked.")
