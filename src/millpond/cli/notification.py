"""`mill notification`: what happened that concerns you, and what you want to be told."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli import notification_channel, notification_smtp
from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.notifications import choose, list_choices, list_notifications, mark_read
from millpond.errors import BadRequest
from millpond.model.notification import NotificationKind, Whose
from millpond.model.quantity import format_count
from millpond.wire.notifications import Choices

app = typer.Typer()
app.add_typer(notification_channel.app, name="channel")
app.add_typer(notification_smtp.app, name="smtp")

_DEFAULT = "default"


@command(app, "list")
def list_all(
    mill: Session,
    unread: Annotated[bool, typer.Option("--unread", help="Only unread ones.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Maximum number.", min=1)] = 50,
) -> None:
    """List your notifications, newest first. With --project, only those of that project.

    Example: mill notification list --unread
    """
    mill.out.items(
        list_notifications(mill.api, unread=unread, project=mill.flags.project, limit=limit),
        [
            ("ID", lambda n: n.id),
            ("WHEN", lambda n: n.at),
            ("KIND", lambda n: n.kind.value),
            ("PROJECT", lambda n: n.project),
            ("READ", lambda n: n.read_at is not None),
            ("WHAT", lambda n: n.title),
            ("WHY", lambda n: n.items[-1].text if n.items else ""),
        ],
        empty="No unread notifications." if unread else "No notifications.",
        drop=("WHY", "PROJECT", "KIND"),
    )


@command(app, "read")
def read(
    mill: Session,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]…", help="Ids of notifications.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Mark all of them.")] = False,
) -> None:
    """Mark notifications as read.

    Example: mill notification read --all
    """
    if everything == bool(ids):
        raise BadRequest("Give ids of notifications, or --all.", hint="List them: mill notification list --unread")
    count = mark_read(mill.api, None if everything else ids)
    if mill.out.as_json:
        mill.out.json({"marked": count})
    else:
        mill.out.note(f"{format_count(count, 'notification')} marked as read.")


@command(app, "kinds")
def kinds(mill: Session) -> None:
    """List what you can be told, and what you have chosen. With --project, for that project.

    Example: mill notification kinds
    """
    _show(mill, list_choices(mill.api, mill.flags.project))


@command(app, "set")
def change(
    mill: Session,
    choices: Annotated[
        list[str],
        typer.Argument(metavar="KIND=WHOSE…", help="Kinds, each with off, own, all or default."),
    ],
) -> None:
    """Choose your notifications: off, for what is yours, or for everybody's. --project limits it to one project.

    Example: mill notification set job-succeeded=own job-failed=all
    """
    found = choose(mill.api, dict(_choice(one) for one in choices), mill.flags.project)
    where = f" in {mill.flags.project}" if mill.flags.project else ""
    mill.out.note(f"{format_count(len(choices), 'choice')} saved{where}.")
    _show(mill, found)


def _choice(written: str) -> tuple[NotificationKind, Whose | None]:
    name, _, whose = written.partition("=")
    allowed = (*(one.value for one in Whose), _DEFAULT)
    if whose not in allowed:
        raise BadRequest(f"{written!r} is no choice.", hint=f"Write {name or 'KIND'}= and one of: {', '.join(allowed)}")
    return notification_channel.kind_of(name), None if whose == _DEFAULT else Whose(whose)


def _show(mill: Session, found: Choices) -> None:
    mill.out.items(
        found.items,
        [
            ("KIND", lambda one: one.kind.value),
            ("WHAT", lambda one: one.label),
            ("WHOSE", lambda one: one.whose.value),
            ("CHOSEN", lambda one: one.is_chosen),
        ],
        empty="",
    )
