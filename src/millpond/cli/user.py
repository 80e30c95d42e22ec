"""`mill user`: people and service accounts."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.asking import ask_secret, read_secret
from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.people import change_user, create_user, delete_user, list_users, whoami
from millpond.errors import BadRequest
from millpond.wire.people import User, UserChange, UserCreate

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="USER", help="The user's name.")]
PasswordFile = Annotated[Path | None, typer.Option(help="A file that holds the new password; - reads it from stdin.")]


@command(app, "list")
def list_all(mill: Session) -> None:
    """List users."""
    mill.out.items(
        list_users(mill.api),
        [
            ("USER", lambda u: u.name),
            ("NAME", lambda u: u.full_name),
            ("ADMINISTRATOR", lambda u: u.is_admin),
            ("CREATED", lambda u: u.created_at),
            ("DISABLED", lambda u: u.disabled_at),
        ],
        empty="There are no users.",
    )


@command(app, "create")
def create(
    mill: Session,
    name: Name,
    full_name: Annotated[str, typer.Option(help="As people call them.")] = "",
    admin: Annotated[bool, typer.Option("--admin", help="May do everything everywhere.")] = False,
    password_file: PasswordFile = None,
) -> None:
    """Create a user. Without a terminal or a file, a password is made and printed this once."""
    password, made = _new_password(mill, name, password_file)
    user = create_user(mill.api, UserCreate(name=name, full_name=full_name, password=password, is_admin=admin))
    mill.out.note(f"User {user.name} created. Give a role: mill project add-member PROJECT {user.name} --role member")
    if mill.out.as_json:
        document = user.model_dump(mode="json")
        mill.out.json({**document, "password": password} if made else document)
        return
    _show(mill, user)
    if made:
        mill.out.line(f"password:      {password}" if mill.out.for_people else f"password\t{password}")


@command(app, "delete")
def delete(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Delete a user. Refused while something depends on them: jobs, sources, a project with no other administrator."""
    mill.confirm(f"Delete the user {name}?", yes=yes)
    delete_user(mill.api, name)
    mill.out.note(f"User {name} deleted.")


@command(app, "disable")
def disable(mill: Session, name: Name) -> None:
    """Keep a user out: no signing in, no token works. Their jobs go on; `mill user enable` lets them in again."""
    _show(mill, change_user(mill.api, name, UserChange(disabled=True)))


@command(app, "enable")
def enable(mill: Session, name: Name) -> None:
    """Let a disabled user in again."""
    _show(mill, change_user(mill.api, name, UserChange(disabled=False)))


@command(app, "set")
def change(
    mill: Session,
    name: Name,
    full_name: Annotated[str | None, typer.Option(help="As people call them.")] = None,
    admin: Annotated[bool | None, typer.Option("--admin/--no-admin", help="May do everything everywhere.")] = None,
) -> None:
    """Change a user's name, or whether they administer the site."""
    if full_name is None and admin is None:
        raise BadRequest("Nothing to change was given.", hint="See: mill user set --help")
    _show(mill, change_user(mill.api, name, UserChange(full_name=full_name, is_admin=admin)))


@command(app, "password")
def password(
    mill: Session,
    password_file: PasswordFile = None,
    old_password_file: Annotated[
        Path | None, typer.Option(help="A file that holds the present password; - reads it from stdin.")
    ] = None,
) -> None:
    """Change your own password."""
    name = whoami(mill.api).user.name
    old = read_secret(old_password_file, "password") if old_password_file else ask_secret(mill, "Your present password")
    new = read_secret(password_file, "password") if password_file else ask_secret(mill, "New password", twice=True)
    change_user(mill.api, name, UserChange(password=new, old_password=old))
    mill.out.note("Your password is changed.")


@command(app, "reset-password")
def reset(
    mill: Session,
    name: Name,
    password_file: PasswordFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="The server's data directory (MILL_DATA_DIR).")] = None,
    database: Annotated[str | None, typer.Option("--db", metavar="URL", help="The server's database.")] = None,
) -> None:
    """Set a forgotten password, on the server's own machine; the server may be running or not."""
    new, made = _new_password(mill, name, password_file)
    # Here and not at the top: nothing else about people needs the server's code, which takes a second to load.
    from millpond.cli.up import reset_password  # noqa: PLC0415

    reset_password(name, new, data_dir=data_dir, database_url=database)
    mill.out.note(f"The password of {name} is changed.")
    if mill.out.as_json:
        mill.out.json({"user": name, "password": new if made else None})
    elif made:
        mill.out.line(new)


def _new_password(mill: Session, name: str, path: Path | None) -> tuple[str, bool]:
    """A password, and whether it was made here and so has to be shown."""
    if path:
        return read_secret(path, "password"), False
    if mill.may_ask:
        return ask_secret(mill, f"Password of {name}", twice=True), False
    return secrets.token_urlsafe(12), True


def _show(mill: Session, user: User) -> None:
    mill.out.shape(
        user,
        [
            ("user", user.name),
            ("name", user.full_name),
            ("administrator", user.is_admin),
            ("created", user.created_at),
            ("disabled", user.disabled_at),
        ],
    )
