"""`mill backup`: copies of the server's database, keys and files, and a server made from one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client import backups
from millpond.errors import BadRequest
from millpond.model.quantity import format_bytes, format_count, format_seconds
from millpond.wire.backups import Backup, BackupRun, Restored, Verified

if TYPE_CHECKING:
    from millpond.services.backups.restore import Restored as Done
    from millpond.settings import Settings

app = typer.Typer()

_ID = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")
_COLUMNS = [
    ("BACKUP", lambda one: one.id),
    ("MADE", lambda one: one.created_at),
    ("SIZE", lambda one: Bytes(one.bytes)),
    ("ROWS", lambda one: one.rows),
    ("FROM", lambda one: one.engine),
    ("VERSION", lambda one: one.version),
    ("ENCRYPTED", lambda one: one.is_encrypted),
    ("KEYS", lambda one: one.has_keys),
]

Place = Annotated[
    str | None,
    typer.Argument(metavar="[DIR|URL]", help="Directory or s3://bucket/prefix; without it, the server's own place."),
]
Which = Annotated[
    str, typer.Argument(metavar="BACKUP", help="Backup: DIR/ID or URL/ID, or only the DIR or URL for its newest one.")
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file", envvar="MILL_BACKUP_PASSPHRASE_FILE", help="File with the passphrase of the encryption."
    ),
]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Data directory of the server (MILL_DATA_DIR).")]
DatabaseUrl = Annotated[
    str | None, typer.Option("--db", metavar="URL", envvar="MILL_DATABASE_URL", help="Database of the server.")
]
LakeUrl = Annotated[
    str | None, typer.Option("--lake", metavar="URL", envvar="MILL_LAKE_URL", help="URL or directory of the lake.")
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--secret-key-file",
        envvar="MILL_SECRET_KEY_FILE",
        help="Key that encrypts secrets and credentials (default: secret.key in the data directory).",
    ),
]


@command(app, "create")
def create(
    mill: Session,
    place: Place = None,
    passphrase_file: PassphraseFile = None,
    keys: Annotated[
        bool, typer.Option("--keys/--no-keys", help="Include the key that opens secrets and credentials.")
    ] = True,
    data_dir: DataDir = None,
    database: DatabaseUrl = None,
    lake: LakeUrl = None,
    secret_key_file: KeyFile = None,
) -> None:
    """Make a backup of the server's database, keys and files. The server may be running.

    With DIR or URL, on the server's own machine; without, the server makes it in the place it was started with
    (`mill up --backup-to`). The lake is not part of a backup: see `mill lake replica`.

    Example: mill backup create /mnt/backups --passphrase-file passphrase
    """
    if place is None:
        run = backups.wait(mill.api, backups.create(mill.api))
        mill.out.note(
            f"Backup {run.backup_id} made: {format_bytes(run.bytes or 0)}, {format_count(run.rows or 0, 'row')}."
        )
        _shape(mill, run)
        return
    # Only commands for the server's own machine need the server's code, which a client may not have.
    from millpond.cli.up import server_settings  # noqa: PLC0415
    from millpond.services.backups import here  # noqa: PLC0415

    settings = server_settings(data_dir, database, lake, secret_key_file)
    made = here.create(settings, place, passphrase_file, with_keys=keys)
    found = Backup.model_validate(made)
    if not found.is_encrypted and found.has_keys:
        mill.out.warn("The backup is not encrypted and holds the server's keys. Encrypt it: --passphrase-file FILE")
    mill.out.note(f"Backup {found.id} made in {place}: {format_bytes(found.bytes)}, {format_count(found.rows, 'row')}.")
    mill.out.note(f"The lake is not in it: {settings.lake}")
    _one(mill, found)


@command(app, "list")
def list_backups(mill: Session, place: Place = None) -> None:
    """List complete backups, newest first.

    Example: mill backup list /mnt/backups
    """
    if place is None:
        found = list(backups.list_backups(mill.api))
    else:
        from millpond.services.backups import here  # noqa: PLC0415 - as above

        found = [Backup.model_validate(one) for one in here.list_backups(place)]
    mill.out.items(found, _COLUMNS, empty="No backups yet. Make one: mill backup create", drop=["VERSION", "FROM"])


@command(app, "verify")
def verify(mill: Session, which: Which, passphrase_file: PassphraseFile = None) -> None:
    """Read every byte of a backup, compare all digests, and put its database together.

    The id alone names a backup of the server's own place, which the server then verifies.

    Example: mill backup verify /mnt/backups --passphrase-file passphrase
    """
    if _ID.fullmatch(which):
        run = backups.wait(mill.api, backups.verify(mill.api, which))
        mill.out.note(f"No problems in backup {run.backup_id}: {format_count(run.rows or 0, 'row')} read.")
        _shape(mill, run)
        return
    from millpond.services.backups import here  # noqa: PLC0415 - as above

    found = here.verify_backup(which, passphrase_file)
    mill.out.note(
        f"No problems in backup {found.backup.id}: {format_count(found.tables, 'table')}, "
        f"{format_count(found.rows, 'row')} and {format_count(found.files, 'file')} read."
    )
    said = Verified(
        id=found.backup.id, tables=found.tables, rows=found.rows, files=found.files, bytes=found.backup.bytes
    )
    if mill.out.as_json:
        mill.out.shape(said, [])


@command(app, "status")
def status(mill: Session) -> None:
    """Show where the server keeps backups, how often it makes them, and what came of the last ones.

    Example: mill backup status
    """
    found = backups.status(mill.api)
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    every = f"every {format_seconds(found.every_seconds)}" if found.every_seconds else "when asked"
    fields = [
        ("place", found.place or "none"),
        ("schedule", f"{every}, newest {found.keep} kept" if found.place else None),
        ("encrypted", ("yes" if found.is_encrypted else "no") if found.place else None),
        ("newest", found.newest.backup_id if found.newest else None),
        ("next", found.next_at),
        ("problem", found.problem),
        ("to do", found.hint if found.problem else None),
    ]
    mill.out.shape(found, fields)
    if found.runs:
        mill.out.line("")
        mill.out.items(
            found.runs,
            [
                ("ASKED", lambda one: one.asked_at),
                ("WORK", lambda one: one.work),
                ("STATE", lambda one: one.state),
                ("BY", lambda one: one.by),
                ("BACKUP", lambda one: one.backup_id),
                ("SIZE", lambda one: Bytes(one.bytes) if one.bytes is not None else None),
                ("PROBLEM", lambda one: one.problem),
            ],
            empty="",
        )


@command(app, "download")
def download(
    mill: Session,
    which: Annotated[str, typer.Argument(metavar="ID", help="Backup, by id.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Directory to save it in.")] = Path(),
) -> None:
    """Save an encrypted backup of the server on this machine.

    Example: mill backup download 20261118T201500Z-1c0ffee5 /mnt/backups
    """
    if not _ID.fullmatch(which):
        raise BadRequest(f"{which!r} is no id of a backup.", hint="See: mill backup list")
    target = backups.download(mill.api, which, folder)
    mill.out.note(f"Saved as {target}.")
    if mill.out.as_json:
        mill.out.json({"id": which, "path": str(target)})


@command(app, "restore")
def restore(
    mill: Session,
    which: Which,
    to: Annotated[
        str, typer.Option("--to", metavar="DIR|URL", help="New data directory, or postgresql://… for the database.")
    ],
    passphrase_file: PassphraseFile = None,
    data_dir: Annotated[
        Path | None,
        typer.Option("--data-dir", help="New data directory for keys and files, if --to is a database."),
    ] = None,
    lake: Annotated[
        str | None, typer.Option("--lake", metavar="URL", help="The lake, if it is elsewhere than it was.")
    ] = None,
    no_lake: Annotated[bool, typer.Option("--no-lake", help="Leave the lake to its owner, to try a restore.")] = False,
    secret_key_file: KeyFile = None,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Own the lake also if another server has taken it over since.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Make a new server from a backup: in SQLite in a new data directory, or in an empty PostgreSQL database.

    Either kind of backup restores into either kind of database, which also moves a server from one to the other. The
    restored server owns the lake: a server that still runs on it stops writing, and only reads from then on.

    Example: mill backup restore /mnt/backups --to postgresql://millpond@db/millpond --data-dir /srv/millpond
    """
    from millpond.cli.up import server_settings  # noqa: PLC0415 - as above
    from millpond.services.backups import here  # noqa: PLC0415

    if to.startswith(("postgresql:", "postgres:", "postgresql+psycopg:")):
        settings = server_settings(data_dir, to, None, secret_key_file, ambient=False)
    elif "://" in to or data_dir is not None:
        raise BadRequest("--to takes a new directory or postgresql://…; --data-dir belongs to the latter.")
    else:
        settings = server_settings(Path(to), None, None, secret_key_file, ambient=False)
    if not no_lake:
        mill.confirm("The server that owns the lake will only read it from now on. Go on?", yes=yes)
    choice = here.LakeChoice(lake, leave_alone=no_lake, from_others=take_over)
    done = here.restore_backup(which, passphrase_file, settings, choice)
    start = _start_command(settings, done)
    if not done.has_keys:
        mill.out.warn(
            "The backup has no keys. Restore again with --secret-key-file FILE, or enter credentials and secrets again."
        )
    mill.out.note(
        f"Backup {done.backup.id} restored: {format_count(done.tables, 'table')}, {format_count(done.rows, 'row')} and "
        f"{format_count(done.files, 'file')}."
    )
    if done.lake is None:
        mill.out.note("The lake was left alone. Before this server can start on it: mill lake take-over")
    else:
        mill.out.note("Datasets that changed since the backup are read-only until you run: mill lake reconcile")
    mill.out.note(f"Start the server: {start}")
    if mill.out.as_json:
        one = done.backup
        said = Restored(
            id=one.id, created_at=one.created_at, tables=done.tables, rows=done.rows, files=done.files,
            data_dir=str(settings.data_dir), lake=done.lake, start=start,
        )  # fmt: skip
        mill.out.shape(said, [])


def _start_command(settings: Settings, done: Done) -> str:
    database = " --db postgresql://…" if settings.database_url else ""
    lake = f" --lake '{done.lake}'" if done.lake and not done.is_default_lake else ""
    key = f" --secret-key-file {settings.secret_key_file}" if settings.secret_key_file else ""
    key = key if done.has_keys else " --new-signing-secret"
    return f"mill up --data-dir {settings.data_dir}{database}{lake}{key}"


def _one(mill: Session, found: Backup) -> None:
    if mill.out.as_json:
        mill.out.shape(found, [])
    else:
        mill.out.line(found.id)


def _shape(mill: Session, run: BackupRun) -> None:
    if mill.out.as_json:
        mill.out.shape(run, [])
    else:
        mill.out.line(run.backup_id or "")
