"""`mill login`, `logout`, `whoami`, `version`."""

from __future__ import annotations

import getpass
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from millpond import __version__
from millpond.cli.asking import ask_secret, read_secret
from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.credentials import config_dir, forget_server, load_credentials, normalize_server, save_token
from millpond.client.http import Api
from millpond.client.people import login as sign_in
from millpond.client.people import revoke_token, whoami
from millpond.errors import BadRequest, MillError, NotSignedIn

app = typer.Typer()


@command(app, "login")
def login(
    mill: Session,
    url: Annotated[str | None, typer.Argument(help="The server, like http://lab:8420.", show_default=False)] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="Your name there.")] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="A file that holds the password; - reads it from stdin.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file that holds an API token instead; - reads it from stdin.")
    ] = None,
) -> None:
    """Sign in to a server and keep a token for it.

    The password is asked for, or read from a file or stdin: never given on the command line, where others see it.
    """
    server = normalize_server(url) if url else mill.target.server
    token_id: str | None = None
    if token_file:
        token = read_secret(token_file, "token")
    else:
        name = user or _ask(mill, "User", default=getpass.getuser())
        question = f"Password of {name} at {server}"
        password = read_secret(password_file, "password") if password_file else ask_secret(mill, question)
        with Api(server) as api:
            made = sign_in(api, name, password, token_name=_token_name())
            token, token_id = made.secret, made.id
    with Api(server, token) as api:
        session = whoami(api)
    save_token(config_dir(), server, token, token_id)
    mill.out.note(f"Signed in to {server} as {session.user.name}.")
    if mill.out.as_json:
        mill.out.shape(session, [])


@command(app, "logout")
def logout(mill: Session) -> None:
    """Give the token back and forget the server."""
    server = mill.target.server
    known = load_credentials(config_dir()).servers.get(server)
    if known is None:
        raise NotSignedIn(f"You are not signed in to {server}.")
    if known.token_id:
        try:
            with Api(server, known.token) as api:
                revoke_token(api, known.token_id)
        except MillError as error:
            mill.out.warn(f"The token is forgotten here, but the server did not revoke it: {error.message}")
    forget_server(config_dir(), server)
    mill.out.note(f"Signed out of {server}.")


@command(app, "whoami")
def show_identity(mill: Session) -> None:
    """Show who you are, where, and in which projects."""
    session = whoami(mill.api)
    roles = [f"{r.project} ({r.role.value})" for r in session.projects]
    mill.out.shape(
        session,
        [
            ("user", session.user.name),
            ("full name", session.user.full_name),
            ("administrator", session.user.is_admin),
            ("server", mill.target.server),
            ("server version", session.server_version),
            ("project", mill.project),
            ("roles", roles),
        ],
    )


@command(app, "version")
def version(mill: Session) -> None:
    """Show the versions of client and server."""
    server: str | None = None
    try:
        server = whoami(mill.api).server_version
    except MillError as error:
        mill.out.note(f"The server's version is not known: {error.message}")
    if mill.out.as_json:
        mill.out.json({"client": __version__, "server": server, "python": platform.python_version()})
        return
    mill.out.line(f"client\t{__version__}" if not mill.out.for_people else f"client  {__version__}")
    if server:
        mill.out.line(f"server\t{server}" if not mill.out.for_people else f"server  {server}  {mill.target.server}")


def _token_name() -> str:
    return f"mill on {platform.node() or 'a machine'}, {datetime.now(UTC):%Y-%m-%d %H:%M}"


def _ask(mill: Session, question: str, default: str) -> str:
    if not mill.may_ask:
        raise BadRequest(f"{question} is not known.", hint="Add --user NAME.")
    answer: str = typer.prompt(question, default=default, err=True)
    return answer
