"""`mill user`: people and service accounts."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.prompts import ask_secret, read_secret
from millpond.cli.session import Session
from millpond.client.people import change_user, create_user, delete_user, list_tokens, list_users, whoami
from millpond.client.sign_in import list_sessions
from millpond.errors import BadRequest, NotFound
from millpond.model.quantity import format_count
from millpond.wire.people import User, UserChange, UserCreate

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="USER", help="Name of the user.")]
PasswordFile = Annotated[Path | None, typer.Option(help="File with the new password; - reads stdin.")]


@command(app, "list")
def list_all(mill: Session) -> None:
    """List users.

    Example: mill user list
    """
    mill.out.items(
        list_users(mill.api),
        [
            ("USER", lambda u: u.name),
            ("NAME", lambda u: u.full_name),
            ("ADMINISTRATOR", lambda u: u.is_admin),
            ("KIND", lambda u: "service" if u.is_service else "person"),
            ("CREATED", lambda u: u.created_at),
            ("DISABLED", lambda u: u.disabled_at),
        ],
        empty="No users.",
    )


@command(app, "create")
def create(
    mill: Session,
    name: Name,
    full_name: Annotated[str, typer.Option(help="Full name.")] = "",
    admin: Annotated[bool, typer.Option("--admin", help="Make them a site administrator.")] = False,
    password_file: PasswordFile = None,
    service: Annotated[
        bool, typer.Option("--service", help="Create a service account: no password, only tokens.")
    ] = False,
    no_password: Annotated[
        bool, typer.Option("--no-password", help="Set no password: they sign in with a provider (mill auth link).")
    ] = False,
) -> None:
    """Create a user. Without a terminal or a file, a password is generated and shown once.

    Example: mill user create ada --full-name "Ada Lovelace"
    """
    without = service or no_password
    if without and password_file:
        raise BadRequest("--password-file goes with neither --service nor --no-password.", hint="Leave one out.")
    password, made = (None, False) if without else _new_password(mill, name, password_file)
    asked: dict[str, Any] = {"name": name, "full_name": full_name, "password": password, "is_admin": admin}
    user = create_user(mill.api, UserCreate.model_validate(asked | ({"is_service": True} if service else {})))
    mill.out.note(
        f"User {user.name} created. Add them to a project: mill project add-member PROJECT {user.name} --role member"
    )
    if service:
        mill.out.note(f"Give it a token: mill token create NAME --user {user.name} --scope read")
    if mill.out.as_json:
        document = user.model_dump(mode="json")
        mill.out.json({**document, "password": password} if made else document)
        return
    _show(mill, user)
    if made:
        mill.out.line(f"password:      {password}" if mill.out.for_people else f"password\t{password}")


@command(app, "delete")
def delete(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Delete a user. Refused while they own jobs or sources, or are the only administrator of a project.

    Example: mill user delete ada
    """
    mill.confirm(f"Delete the user {name}?", yes=yes)
    delete_user(mill.api, name)
    mill.out.note(f"User {name} deleted.")


@command(app, "disable")
def disable(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Disable a user: they cannot sign in, and their sessions and tokens end. Their jobs continue.

    Example: mill user disable ada
    """
    ends = _what_ends(mill, name)
    if mill.may_ask:
        mill.confirm(f"Disable {name}? {ends}", yes=yes)
    else:
        mill.out.note(ends)
    _show(mill, change_user(mill.api, name, UserChange(disabled=True)))


@command(app, "enable")
def enable(mill: Session, name: Name) -> None:
    """Enable a disabled user.

    Example: mill user enable ada
    """
    _show(mill, change_user(mill.api, name, UserChange(disabled=False)))


@command(app, "set")
def change(
    mill: Session,
    name: Name,
    full_name: Annotated[str | None, typer.Option(help="Full name.")] = None,
    admin: Annotated[
        bool | None, typer.Option("--admin/--no-admin", help="Make them a site administrator, or not.")
    ] = None,
) -> None:
    """Change a user's full name, or whether they are a site administrator.

    Example: mill user set ada --admin
    """
    if full_name is None and admin is None:
        raise BadRequest("Nothing to change.", hint="See: mill user set --help")
    _show(mill, change_user(mill.api, name, UserChange(full_name=full_name, is_admin=admin)))


@command(app, "password")
def password(
    mill: Session,
    password_file: PasswordFile = None,
    old_password_file: Annotated[
        Path | None, typer.Option(help="File with the current password; - reads stdin.")
    ] = None,
    keep_tokens: Annotated[
        bool, typer.Option("--keep-tokens", help="Keep your API tokens and signed-in command lines.")
    ] = False,
) -> None:
    """Change your password. Signs you out everywhere else and revokes your other API tokens.

    Example: mill user password
    """
    name = whoami(mill.api).user.name
    if not keep_tokens and not mill.out.as_json:
        mill.out.note(f"{_what_ends(mill, name)} The one in use here stays.")
    old = read_secret(old_password_file, "password") if old_password_file else ask_secret(mill, "Current password")
    new = read_secret(password_file, "password") if password_file else ask_secret(mill, "New password", twice=True)
    change_user(mill.api, name, UserChange(password=new, old_password=old, revoke_tokens=not keep_tokens))
    kept = "Your API tokens still work." if keep_tokens else "Your other API tokens are revoked."
    mill.out.note(f"Password changed. You are signed out everywhere else. {kept}")


@command(app, "reset-password")
def reset(
    mill: Session,
    name: Name,
    password_file: PasswordFile = None,
    data_dir: Annotated[Path | None, typer.Option(help="Data directory of the server (MILL_DATA_DIR).")] = None,
    database: Annotated[str | None, typer.Option("--db", metavar="URL", help="Database of the server.")] = None,
) -> None:
    """Reset a password, on the server's own machine, and revoke the user's sessions and API tokens.

    The server may be running.

    Example: mill user reset-password admin
    """
    new, made = _new_password(mill, name, password_file)
    # Here and not at the top: nothing else about people needs the server's code, which takes a second to load.
    from millpond.cli.up import reset_password  # noqa: PLC0415

    reset_password(name, new, data_dir=data_dir, database_url=database)
    mill.out.note(f"Password of {name} changed.")
    if mill.out.as_json:
        mill.out.json({"user": name, "password": new if made else None})
    elif made:
        mill.out.line(new)


def _what_ends(mill: Session, name: str) -> str:
    """Said before: what ends stays gone when the user is enabled again."""
    try:
        sessions, tokens = len(list(list_sessions(mill.api, name))), len(list(list_tokens(mill.api, name)))
    except NotFound:
        # An older server, or no such user: the change itself says so.
        return "Their sessions and tokens end."
    return f"Ends {format_count(sessions, 'session')} and {format_count(tokens, 'token')} of theirs."


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
            ("kind", "service account" if user.is_service else "person"),
            ("e-mail", user.email or None),
            ("created", user.created_at),
            ("disabled", user.disabled_at),
        ],
    )
