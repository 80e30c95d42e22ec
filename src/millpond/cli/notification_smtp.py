"""`mill notification smtp`: the mail server that e-mail is sent by, for site administrators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.prompts import read_secret
from millpond.cli.session import Session
from millpond.client.notifications import get_smtp, remove_smtp, set_smtp, test_smtp
from millpond.errors import BadRequest, MillError
from millpond.model.notification import SmtpTls
from millpond.wire.notifications import Smtp, SmtpSet

app = typer.Typer(help="Set the mail server that notifications are sent by.")


@command(app, "set")
def change(
    mill: Session,
    host: Annotated[str, typer.Argument(help="Name of the mail server.")],
    sender: Annotated[str, typer.Option("--from", metavar="ADDRESS", help="Address that e-mail comes from.")],
    port: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=65535, help="Port (default: 587; 465 with tls, 25 with none)."),
    ] = None,
    tls: Annotated[
        str, typer.Option(metavar="starttls|tls|none", help="How the connection is encrypted.")
    ] = "starttls",
    user: Annotated[str | None, typer.Option(metavar="NAME", help="User name there.")] = None,
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the password; - reads stdin.")
    ] = None,
    to_domain: Annotated[
        list[str] | None,
        typer.Option("--to-domain", metavar="DOMAIN", help="Domain that e-mail may go to; repeat it (default: all)."),
    ] = None,
) -> None:
    """Set the mail server. Its password is encrypted and never shown again; without a file the old one stays.

    Example: mill notification smtp set smtp.example.org --from millpond@example.org --user millpond --password-file pw
    """
    if tls not in [one.value for one in SmtpTls]:
        raise BadRequest(f"--tls must be starttls, tls or none, not {tls!r}.")
    password = read_secret(password_file, "password") if password_file is not None else None
    wanted = SmtpSet(
        host=host, sender=sender, port=port, tls=SmtpTls(tls), user=user, password=password, domains=to_domain or []
    )
    found = set_smtp(mill.api, wanted)
    mill.out.note(f"E-mail is sent by {found.host}. Test it: mill notification smtp test ADDRESS")
    _show(mill, found)


@command(app, "show")
def show(mill: Session) -> None:
    """Show the mail server.

    Example: mill notification smtp show
    """
    _show(mill, get_smtp(mill.api))


@command(app, "test")
def test(mill: Session, to: Annotated[str, typer.Argument(metavar="ADDRESS", help="Where to send it.")]) -> None:
    """Send a test message now. Exit code 1 if it was not taken.

    Example: mill notification smtp test ada@example.org
    """
    result = test_smtp(mill.api, to)
    if mill.out.as_json:
        mill.out.shape(result, [])
        if not result.works:
            raise typer.Exit(1)
    elif not result.works:
        raise MillError(f"The test message was not sent: {result.problem}", hint=result.hint)
    else:
        mill.out.note(f"The mail server took the test message to {to}.")


@command(app, "rm")
def remove(
    mill: Session, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove the mail server. From then on no e-mail is sent.

    Example: mill notification smtp rm --yes
    """
    mill.confirm("Remove the mail server?", yes=yes)
    remove_smtp(mill.api)
    mill.out.note("Mail server removed.")


def _show(mill: Session, found: Smtp) -> None:
    mill.out.shape(
        found,
        [
            ("host", found.host),
            ("port", found.port),
            ("tls", found.tls.value),
            ("from", found.sender),
            ("user", found.user),
            ("password", found.has_password),
            ("only to", ", ".join(found.domains)),
            ("set by", found.set_by),
            ("set", found.set_at),
        ],
    )
