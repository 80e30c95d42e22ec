"""`mill connection`: places outside the lake that a project may import from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.prompts import read_secret
from millpond.cli.session import Session
from millpond.client.connections import (
    allow_writing,
    change_credentials,
    create_connection,
    delete_connection,
    get_connection,
    list_connections,
    test_connection,
)
from millpond.errors import BadRequest, MillError
from millpond.wire.imports import Connection, ConnectionCreate, Credentials

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the connection.")]
KeyId = Annotated[str | None, typer.Option(metavar="ID", help="Id of the access key (S3).")]
User = Annotated[str | None, typer.Option(metavar="NAME", help="User name (https).")]
SecretFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File (- for stdin) with the secret: S3 secret key, https password (with --user) or "
        "bearer token, JSON key of a Google service account.",
    ),
]


@command(app, "add")
def add(
    mill: Session,
    name: Name,
    url: Annotated[str, typer.Argument(help="s3://bucket/prefix, gs://bucket/prefix or https://host/path.")],
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="Endpoint of an S3 store other than Amazon's.")
    ] = None,
    region: Annotated[str | None, typer.Option(help="Region of the bucket (S3; default: us-east-1).")] = None,
    key_id: KeyId = None,
    user: User = None,
    secret_file: SecretFile = None,
    writable: Annotated[bool, typer.Option("--writable", help="Let moves and mirrors write there (S3).")] = False,
) -> None:
    """Add a bucket or web server to import from. Its credentials are encrypted and never shown again.

    Example: mill connection add hospital s3://hospital/2026 --key-id AKIA… --secret-file key.txt
    """
    asked = ConnectionCreate(
        name=name, url=url, endpoint=endpoint, region=region, writable=writable,
        credentials=_credentials(url, key_id, user, secret_file),
    )  # fmt: skip
    connection = create_connection(mill.api, mill.project, asked)
    mill.out.note(f"Connection {connection.name} added. Test it: mill connection test {connection.name}")
    _show(mill, connection)


@command(app, "list")
def list_all(mill: Session) -> None:
    """List the connections of a project.

    Example: mill connection list
    """
    mill.out.items(
        list_connections(mill.api, mill.project),
        [
            ("CONNECTION", lambda c: c.name),
            ("URL", lambda c: c.url),
            ("ENDPOINT", lambda c: c.endpoint),
            ("CREDENTIALS", lambda c: c.has_credentials),
            ("WRITABLE", lambda c: c.writable),
            ("CREATED", lambda c: c.created_at),
            ("BY", lambda c: c.created_by),
        ],
        empty="No connections in this project. A project administrator can add one: mill connection "
        "add NAME s3://bucket",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a connection.

    Example: mill connection show hospital
    """
    _show(mill, get_connection(mill.api, mill.project, name))


@command(app, "credentials")
def credentials(
    mill: Session, name: Name, key_id: KeyId = None, user: User = None, secret_file: SecretFile = None
) -> None:
    """Replace the credentials of a connection; without options, remove them.

    Example: mill connection credentials hospital --key-id AKIA… --secret-file key.txt
    """
    found = get_connection(mill.api, mill.project, name)
    given = _credentials(found.url, key_id, user, secret_file)
    changed = change_credentials(mill.api, mill.project, name, given)
    mill.out.note(f"Credentials of connection {name} {'replaced' if given else 'removed'}.")
    _show(mill, changed)


@command(app, "set")
def change(
    mill: Session,
    name: Name,
    writable: Annotated[bool, typer.Option("--writable/--read-only", help="Let moves and mirrors write there.")],
) -> None:
    """Let moves and mirrors of the project's members write through a connection, or no longer.

    Example: mill connection set archive --writable
    """
    changed = allow_writing(mill.api, mill.project, name, writable=writable)
    mill.out.note(f"Connection {name} is {'writable' if writable else 'for reading only'}.")
    _show(mill, changed)


@command(app, "test")
def test(mill: Session, name: Name) -> None:
    """Test whether a connection can be reached and read. Exit code 1 if not.

    Example: mill connection test hospital
    """
    result = test_connection(mill.api, mill.project, name)
    if mill.out.as_json:
        mill.out.shape(result, [])
    elif result.works:
        mill.out.note(f"{name} works.")
        for uri in result.objects:
            mill.out.line(uri)
    else:
        raise MillError(f"{name} does not work: {result.problem}", hint=result.hint)
    if not result.works:
        raise typer.Exit(1)


@command(app, "rm")
def remove(
    mill: Session,
    name: Name,
    force: Annotated[
        bool, typer.Option(help="Remove it although commits use it. Their files become unreadable.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Remove a connection. Nothing changes at the bucket or web server.

    Example: mill connection rm hospital
    """
    mill.confirm(f"Remove the connection {name}?", yes=yes)
    delete_connection(mill.api, mill.project, name, force=force)
    mill.out.note(f"Connection {name} removed.")


def _credentials(url: str, key_id: str | None, user: str | None, secret_file: Path | None) -> Credentials | None:
    if secret_file is None:
        if key_id or user:
            raise BadRequest("The secret is missing.", hint="Use --secret-file FILE, or - for stdin.")
        return None
    secret = read_secret(secret_file, "secret")
    if url.startswith("gs://"):
        return Credentials.model_validate({"service_account": secret})
    if url.startswith("https://"):
        return Credentials.model_validate({"user": user, "password": secret} if user else {"bearer": secret})
    if key_id is None:
        raise BadRequest("An S3 secret key needs its id.", hint="Add --key-id ID.")
    return Credentials.model_validate({"key_id": key_id, "secret": secret})


def _show(mill: Session, connection: Connection) -> None:
    mill.out.shape(
        connection,
        [
            ("connection", connection.name),
            ("project", connection.project),
            ("url", connection.url),
            ("endpoint", connection.endpoint),
            ("region", connection.region),
            ("credentials", connection.has_credentials),
            ("writable", connection.writable),
            ("created", connection.created_at),
            ("by", connection.created_by),
        ],
    )
