"""`mill lake replica`: copies of the lake in other object stores."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.prompts import read_secret
from millpond.cli.session import Session
from millpond.cli.values import Bytes, Seconds
from millpond.client import lake_replicas
from millpond.errors import BadRequest, Incomplete
from millpond.model.quantity import format_count
from millpond.wire.imports import Credentials
from millpond.wire.lake_replicas import LakeReplica, LakeReplicaCreate

replica = typer.Typer(help="Manage copies of the lake in other object stores.")

Name = Annotated[str, typer.Argument(help="Name of the replica.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]
_LOOK_SECONDS = 0.5


def add_to(app: typer.Typer) -> None:
    app.add_typer(replica, name="replica")


@command(replica, "add")
def add(
    mill: Session,
    name: Name,
    url: Annotated[str, typer.Argument(help="s3://bucket/prefix, gs://bucket/prefix or az://container/prefix.")],
    sites: Annotated[list[str], typer.Option("--site", metavar="SITE", help="Site that reads from it (repeatable).")],
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="Endpoint of an S3 store other than Amazon's.")
    ] = None,
    region: Annotated[str | None, typer.Option(help="Region of the bucket (S3; default: us-east-1).")] = None,
    key_id: Annotated[str | None, typer.Option(metavar="ID", help="Id of the access key (S3).")] = None,
    secret_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File (- for stdin) with the secret of the access key.")
    ] = None,
) -> None:
    """Add a replica of the lake. The server copies all commits there and keeps it up to date.

    Agents of the sites read from it. Without an access key it is opened with the credentials of the lake.

    Example: mill lake replica add virginia s3://lake-east/replica --region us-east-1 --site east
    """
    asked = LakeReplicaCreate(
        name=name, url=url, endpoint=endpoint, region=region, sites=sites, credentials=_credentials(key_id, secret_file)
    )
    made = lake_replicas.add_replica(mill.api, asked)
    mill.out.note(f"Replica {name} added. The server copies the lake there: mill lake replica show {name}")
    _show(mill, made)


@command(replica, "list")
def list_all(mill: Session) -> None:
    """List replicas, and how far each is behind the lake.

    Example: mill lake replica list
    """
    mill.out.items(
        lake_replicas.list_replicas(mill.api),
        [
            ("REPLICA", lambda r: r.name),
            ("URL", lambda r: r.url),
            ("SITES", lambda r: ", ".join(r.sites)),
            ("HOLDS", lambda r: Bytes(r.bytes)),
            ("STATE", lambda r: r.problem or r.state),
        ],
        empty="No replicas yet. Add one: mill lake replica add NAME s3://bucket/prefix --site SITE",
    )


@command(replica, "show")
def show(mill: Session, name: Name) -> None:
    """Show a replica: what it holds, and how far it is behind the lake.

    Example: mill lake replica show virginia
    """
    _show(mill, lake_replicas.get_replica(mill.api, name))


@command(replica, "sync")
def sync(
    mill: Session,
    name: Name,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it is up to date (default: wait).")] = True,
) -> None:
    """Bring a replica up to date now, and remove what the lake no longer has.

    Example: mill lake replica sync virginia
    """
    found = lake_replicas.sync_replica(mill.api, name)
    while wait and found.problem is None and found.commits_behind:
        time.sleep(_LOOK_SECONDS)
        found = lake_replicas.get_replica(mill.api, name)
    if wait and found.problem is not None:
        raise Incomplete(f"Replica {name} is not up to date: {found.problem}", hint="The server tries again by itself.")
    mill.out.note(f"Replica {name}: {found.state}.")
    _show(mill, found)


@command(replica, "check")
def check(mill: Session, name: Name) -> None:
    """Compare a replica with what it should hold. What is missing or has another size is copied again.

    Example: mill lake replica check virginia
    """
    found = lake_replicas.check_replica(mill.api, name)
    bad = found.missing + found.wrong
    said = f"{format_count(found.objects, 'object')} compared"
    mill.out.note(f"{said}, {bad} missing or wrong. They are copied again." if bad else f"{said}, no problems.")
    mill.out.shape(
        found,
        [
            ("objects", found.objects),
            ("missing", found.missing),
            ("wrong", found.wrong),
            ("extra", found.extra),
            *(("example", key) for key in found.examples),
        ],
    )


@command(replica, "rm")
def remove(mill: Session, name: Name, yes: Yes = False) -> None:
    """Remove a replica. Its objects stay where they are, and are no longer read.

    Example: mill lake replica rm virginia
    """
    mill.confirm(f"Remove the replica {name}?", yes=yes)
    lake_replicas.remove_replica(mill.api, name)
    mill.out.note(f"Replica {name} removed. Its objects stay in its bucket.")


def _credentials(key_id: str | None, secret_file: Path | None) -> Credentials | None:
    if (key_id is None) != (secret_file is None):
        raise BadRequest("An access key has an id and a secret.", hint="Give --key-id and --secret-file, or neither.")
    if secret_file is None:
        return None
    return Credentials.model_validate({"key_id": key_id, "secret": read_secret(secret_file, "secret")})


def _show(mill: Session, found: LakeReplica) -> None:
    mill.out.shape(
        found,
        [
            ("replica", found.name),
            ("url", found.url),
            ("endpoint", found.endpoint),
            ("region", found.region),
            ("own credentials", found.has_credentials),
            ("sites", ", ".join(found.sites)),
            ("state", found.state),
            ("problem", found.problem),
            ("holds", Bytes(found.bytes)),
            ("behind", Bytes(found.bytes_behind)),
            ("commits behind", found.commits_behind),
            ("for", Seconds(found.seconds_behind) if found.seconds_behind else None),
            ("up to date at", found.synced_at),
        ],
    )
