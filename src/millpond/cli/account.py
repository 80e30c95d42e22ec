"""`mill login`, `logout`, `whoami`, `version`."""

from __future__ import annotations

import getpass
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from millpond import __version__
from millpond.cli.command import command
from millpond.cli.prompts import ask_secret, read_secret
from millpond.cli.server import note_no_current
from millpond.cli.session import Session
from millpond.client.credentials import config_dir, forget_server, load_credentials, save_token
from millpond.client.http import Api
from millpond.client.machine_login import has_browser, login_in_browser, login_with_code
from millpond.client.people import login as sign_in
from millpond.client.people import revoke_token, whoami
from millpond.client.sign_in import sign_in_ways
from millpond.errors import BadRequest, MillError, NotSignedIn
from millpond.wire.people import NewToken
from millpond.wire.sign_in import DeviceLoginBegun

app = typer.Typer()


@command(app, "login")
def login(
    mill: Session,
    url: Annotated[
        str | None, typer.Argument(help="Server, like http://lab:8420, or the name of a known one.", show_default=False)
    ] = None,
    user: Annotated[str | None, typer.Option("--user", "-u", help="User name.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Name for this server on this machine.", show_default="from its host name")
    ] = None,
    password_file: Annotated[Path | None, typer.Option(help="File with the password; - reads stdin.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with an API token to use instead of a password; - reads stdin.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser", help="Sign in on the page, in a browser of this machine.")
    ] = False,
    device: Annotated[
        bool, typer.Option("--device", help="Show a code to confirm on the page, with a browser anywhere.")
    ] = False,
) -> None:
    """Sign in to a server and make it the current one.

    Where the server has single sign-on, a browser is opened; without one on this machine, a code is shown. A password
    is read from a prompt, a file or stdin, never from the command line, where other users could see it.

    Example: mill login http://lab:8420 --user ada
    """
    server = load_credentials(config_dir()).url_of(url) if url else mill.target.server
    token_id: str | None = None
    if sum(map(bool, (token_file, user or password_file, browser, device))) > 1:
        raise BadRequest("Choose one way to sign in.", hint="--user, --token-file, --browser or --device")
    if token_file:
        token = read_secret(token_file, "token")
    else:
        with Api(server) as api:
            in_browser, by_code = (browser, device) if browser or device or user else _way(mill, api, password_file)
            if in_browser:
                made = login_in_browser(api, tell=lambda url: _tell_address(mill, url))
            elif by_code:
                made = login_with_code(api, tell=lambda begun: _tell_code(mill, begun))
            else:
                made = _with_password(mill, api, user, password_file)
            token, token_id = made.secret, made.id
    with Api(server, token) as api:
        session = whoami(api)
    saved = save_token(config_dir(), server, token, token_id, name=name)
    mill.out.note(f"Signed in to {server} as {session.user.name}. Current server: {saved.name_of(server)}")
    if mill.out.as_json:
        mill.out.shape(session, [])


@command(app, "logout")
def logout(mill: Session) -> None:
    """Revoke your token and forget the server.

    Example: mill logout --server lab
    """
    server = mill.target.server
    known = load_credentials(config_dir()).servers.get(server)
    if known is None:
        raise NotSignedIn(f"You are not signed in to {server}.", hint="List your servers: mill server list")
    if known.token_id:
        try:
            with Api(server, known.token) as api:
                revoke_token(api, known.token_id)
        except MillError as error:
            mill.out.warn(f"The token was removed here but not revoked on the server: {error.message}")
    left = forget_server(config_dir(), server)
    mill.out.note(f"Signed out of {server}.")
    if not left.current:
        note_no_current(mill, left)


@command(app, "whoami")
def show_identity(mill: Session) -> None:
    """Show your user, server, project and roles.

    Example: mill whoami
    """
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
    """Show the versions of client and server.

    Example: mill version
    """
    server: str | None = None
    try:
        server = whoami(mill.api).server_version
    except MillError as error:
        mill.out.note(f"Cannot tell the server's version: {error.message}")
    if mill.out.as_json:
        mill.out.json({"client": __version__, "server": server, "python": platform.python_version()})
        return
    mill.out.line(f"client\t{__version__}" if not mill.out.for_people else f"client  {__version__}")
    if server:
        mill.out.line(f"server\t{server}" if not mill.out.for_people else f"server  {server}  {mill.target.server}")


def _way(mill: Session, api: Api, password_file: Path | None) -> tuple[bool, bool]:
    """In a browser of this machine, or by a code; neither where a password does."""
    if password_file or not mill.may_ask:
        return False, False
    ways = sign_in_ways(api)
    if ways.password and not ways.providers:
        return False, False
    return has_browser(), not has_browser()


def _with_password(mill: Session, api: Api, user: str | None, password_file: Path | None) -> NewToken:
    who = user or _ask(mill, "User", default=getpass.getuser())
    question = f"Password of {who} at {api.base_url}"
    password = read_secret(password_file, "password") if password_file else ask_secret(mill, question)
    return sign_in(api, who, password, token_name=_token_name())


def _tell_address(mill: Session, url: str) -> None:
    mill.out.note(f"Allow it in your browser. If none opens, go to:\n{url}")


def _tell_code(mill: Session, begun: DeviceLoginBegun) -> None:
    typer.echo(f"Go to {begun.url} with any browser and enter the code {begun.user_code}", err=True)


def _token_name() -> str:
    return f"mill on {platform.node() or 'a machine'}, {datetime.now(UTC):%Y-%m-%d %H:%M}"


def _ask(mill: Session, question: str, default: str) -> str:
    if not mill.may_ask:
        raise BadRequest(f"{question} is missing.", hint="Add --user NAME, or --device to confirm a code.")
    answer: str = typer.prompt(question, default=default, err=True)
    return answer
