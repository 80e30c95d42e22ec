"""`mill connection`: places outside the lake that a project may import from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.asking import read_secret
from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.connections import (
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

Name = Annotated[str, typer.Argument(help="The connection's name.")]
KeyId = Annotated[str | None, typer.Option(metavar="ID", help="S3: the access key's id.")]
User = Annotated[str | None, typer.Option(metavar="NAME", help="https: the user of the site.")]
SecretFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A file (- for stdin) with the secret: the S3 secret key, the https password (with --user) or bearer "
        "token, the JSON key of a Google service account.",
    ),
]


@command(app, "add")
def add(
    mill: Session,
    name: Name,
    url: Annotated[str, typer.Argument(help="s3://bucket/prefix, gs://bucket/prefix or https://host/path.")],
    endpoint: Annotated[str | None, typer.Option(metavar="URL", help="S3 other than Amazon's.")] = None,
    region: Annotated[str | None, typer.Option(help="S3: the bucket's region (us-east-1).")] = None,
    key_id: KeyId = None,
    user: User = None,
    secret_file: SecretFile = None,
) -> None:
    """Add a place to import from. Its credentials are sealed at the server and never shown again."""
    asked = ConnectionCreate(
        name=name, url=url, endpoint=endpoint, region=region, credentials=_credentials(url, key_id, user, secret_file)
    )
    connection = create_connection(mill.api, mill.project, asked)
    mill.out.note(f"Connection {connection.name} added. See whether it works: mill connection test {connection.name}")
    _show(mill, connection)


@command(app, "list")
def list_all(mill: Session) -> None:
    """List the project's connections."""
    mill.out.items(
        list_connections(mill.api, mill.project),
        [
            ("CONNECTION", lambda c: c.name),
            ("URL", lambda c: c.url),
            ("ENDPOINT", lambda c: c.endpoint),
            ("CREDENTIALS", lambda c: c.has_credentials),
            ("CREATED", lambda c: c.created_at),
            ("BY", lambda c: c.created_by),
        ],
        empty="This project has no connections. An administrator of it adds one: mill connection add NAME s3://bucket",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show one connection."""
    _show(mill, get_connection(mill.api, mill.project, name))


@command(app, "credentials")
def credentials(
    mill: Session, name: Name, key_id: KeyId = None, user: User = None, secret_file: SecretFile = None
) -> None:
    """Give a connection other credentials; without any, it goes on without."""
    found = get_connection(mill.api, mill.project, name)
    given = _credentials(found.url, key_id, user, secret_file)
    changed = change_credentials(mill.api, mill.project, name, given)
    mill.out.note(f"Connection {name} has {'other' if given else 'no'} credentials now.")
    _show(mill, changed)


@command(app, "test")
def test(mill: Session, name: Name) -> None:
    """See whether the place answers and may be read. Exit 1 if not."""
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
    force: Annotated[bool, typer.Option(help="Also when commits need it: their files cannot be read then.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a connection. Nothing at the place itself changes."""
    mill.confirm(f"Remove the connection {name}?", yes=yes)
    delete_connection(mill.api, mill.project, name, force=force)
    mill.out.note(f"Connection {name} removed.")


def _credentials(url: str, key_id: str | None, user: str | None, secret_file: Path | None) -> Credentials | None:
    if secret_file is None:
        if key_id or user:
            raise BadRequest("The secret is missing.", hint="Give it with --secret-file FILE, or - for stdin.")
        return None
    secret = read_secret(secret_file, "secret")
    if url.startswith("gs://"):
        return Credentials.model_validate({"service_account": secret})
    if url.startswith("https://"):
        return Credentials.model_validate({"user": user, "password": secret} if user else {"bearer": secret})
    if key_id is None:
        raise BadRequest("An S3 secret key has an id.", hint="Give it with --key-id.")
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
            ("created", connection.created_at),
            ("by", connection.created_by),
        ],
    )
