"""`mill auth`: how people sign in, for site administrators. Providers and rules have files of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli import auth_provider, auth_rule
from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.sign_in import link_user, list_links, list_providers, set_local_login, unlink_user
from millpond.errors import BadRequest

app = typer.Typer()
app.add_typer(auth_provider.app, name="provider")
app.add_typer(auth_rule.app, name="rule")

User = Annotated[str, typer.Argument(metavar="USER", help="Name of the user.")]
OfProvider = Annotated[str, typer.Option("--provider", metavar="NAME", help="Name of the provider.")]
Subject = Annotated[
    str, typer.Option(metavar="ID", help="Who they are there: the claim `sub`, or the id attribute of the directory.")
]


@command(app, "link")
def link(mill: Session, user: User, provider: OfProvider, subject: Subject) -> None:
    """Let somebody at a provider sign in as a user. People link their own accounts on the page.

    Example: mill auth link ada --provider corp --subject 248289761001
    """
    linked = link_user(mill.api, user, provider=provider, subject=subject)
    mill.out.note(f"{subject} at {provider} signs in as {user} now.")
    if mill.out.as_json:
        mill.out.shape(linked, [])


@command(app, "unlink")
def unlink(mill: Session, user: User, provider: OfProvider, subject: Subject) -> None:
    """Remove a linked sign-in of a user. Their sessions and tokens stay.

    Example: mill auth unlink ada --provider corp --subject 248289761001
    """
    unlink_user(mill.api, user, provider=provider, subject=subject)
    mill.out.note(f"{subject} at {provider} no longer signs in as {user}.")


@command(app, "links")
def links(mill: Session, user: User) -> None:
    """List the linked sign-ins of a user.

    Example: mill auth links ada
    """
    mill.out.items(
        list_links(mill.api, user),
        [
            ("PROVIDER", lambda one: one.provider),
            ("SUBJECT", lambda one: one.subject),
            ("E-MAIL", lambda one: one.email),
            ("LINKED", lambda one: one.created_at),
            ("LAST USED", lambda one: one.used_at),
        ],
        empty=f"No linked sign-ins. Link one: mill auth link {user} --provider NAME --subject ID",
    )


@command(app, "local-login")
def local_login(
    mill: Session,
    state: Annotated[
        str | None, typer.Argument(metavar="on|off", help="What to set it to.", show_default=False)
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Change the database of this machine's server, without signing in.")
    ] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Data directory of the server (MILL_DATA_DIR).")] = None,
    database: Annotated[str | None, typer.Option("--db", metavar="URL", help="Database of the server.")] = None,
) -> None:
    """Show or set whether people may sign in with a password kept by this server.

    It is not switched off unless a site administrator could sign in with a provider. The way back, on the server's own
    machine: `mill auth local-login on --here`.

    Example: mill auth local-login off
    """
    if state not in (None, "on", "off"):
        raise BadRequest(f"{state!r} is neither `on` nor `off`.", hint="See: mill auth local-login --help")
    if here or data_dir or database:
        if state is None:
            raise BadRequest("Say `on` or `off`.", hint="mill auth local-login on --here")
        # Here and not at the top: nothing else about signing in needs the server's code, which takes a second to load.
        from millpond.cli.up import set_local_login_here  # noqa: PLC0415

        set_local_login_here(on=state == "on", data_dir=data_dir, database_url=database)
    elif state is not None:
        set_local_login(mill.api, on=state == "on")
    is_on = state == "on" if state else list_providers(mill.api).local_login
    if mill.out.as_json:
        mill.out.json({"local_login": is_on})
    elif state is None:
        mill.out.line("on" if is_on else "off")
    else:
        mill.out.note("People may sign in with a password." if is_on else "Nobody can sign in with a password now.")
