"""`mill notification channel`: e-mail addresses and webhooks that notifications go to."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.client.notifications import (
    add_channel,
    change_channel,
    list_channels,
    list_deliveries,
    remove_channel,
    test_channel,
)
from millpond.errors import BadRequest, MillError
from millpond.model.notification import NotificationKind
from millpond.wire.notifications import Channel, ChannelCreate

app = typer.Typer(
    help="Manage the e-mail addresses and webhooks that notifications go to. With --project, those of a project."
)

Name = Annotated[str, typer.Argument(help="Name of the channel.")]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help="Kind to send; repeat it for more. See: mill notification kinds"),
]


@command(app, "add")
def add(
    mill: Session,
    name: Name,
    email: Annotated[
        str | None,
        typer.Option("--email", metavar="ADDRESS", help="E-mail address; `own` for the one of your account."),
    ] = None,
    webhook: Annotated[str | None, typer.Option("--webhook", metavar="URL", help="URL that gets signed JSON.")] = None,
    kinds: Kinds = None,
) -> None:
    """Add an e-mail address or a webhook. The secret that signs a webhook's messages is shown once.

    Your own channels get your notifications. Channels of a project get what happens there, no matter who caused it.

    Example: mill notification channel add mail --email ada@example.org
    """
    asked = ChannelCreate(
        name=name, email="" if email == "own" else email, webhook=webhook,
        kinds=[kind_of(one) for one in kinds] if kinds else None,
    )  # fmt: skip
    made = add_channel(mill.api, asked, mill.flags.project)
    project = f" --project {mill.flags.project}" if mill.flags.project else ""
    mill.out.note(f"Channel {made.name} added. Test it: mill notification channel test {made.name}{project}")
    _show(mill, made, secret=made.secret)


@command(app, "list")
def list_all(mill: Session) -> None:
    """List channels, and how the last message to each went.

    Example: mill notification channel list
    """
    mill.out.items(
        list_channels(mill.api, mill.flags.project),
        [
            ("CHANNEL", lambda c: c.name),
            ("TYPE", lambda c: c.type.value),
            ("TO", lambda c: c.to),
            ("KINDS", lambda c: _kinds(c)),
            ("LAST", lambda c: c.last.state.value if c.last else None),
            ("STATUS", lambda c: c.last.status if c.last else None),
            ("PROBLEM", lambda c: c.last.problem if c.last else None),
        ],
        empty="No channels. Add one: mill notification channel add NAME --email ADDRESS",
        drop=("KINDS", "STATUS"),
    )


@command(app, "set")
def change(mill: Session, name: Name, kinds: Kinds = None) -> None:
    """Choose the kinds that a channel gets.

    Example: mill notification channel set mail --kind job-failed --kind source-failing
    """
    if not kinds:
        raise BadRequest("No kind given.", hint="Add --kind KIND; list them: mill notification kinds")
    changed = change_channel(mill.api, name, [kind_of(one) for one in kinds], mill.flags.project)
    mill.out.note(f"Channel {name} changed.")
    _show(mill, changed)


@command(app, "test")
def test(mill: Session, name: Name) -> None:
    """Send a test message now. Exit code 1 if it was not taken.

    Example: mill notification channel test mail
    """
    result = test_channel(mill.api, name, mill.flags.project)
    if mill.out.as_json:
        mill.out.shape(result, [])
        if not result.works:
            raise typer.Exit(1)
    elif not result.works:
        raise MillError(f"{name} does not work: {result.problem}", hint=result.hint)
    else:
        mill.out.note(f"{name} took the test message.")


@command(app, "deliveries")
def deliveries(mill: Session, name: Name) -> None:
    """List the last messages to a channel, newest first, and how they went.

    Example: mill notification channel deliveries mail
    """
    mill.out.items(
        list_deliveries(mill.api, name, mill.flags.project),
        [
            ("CREATED", lambda d: d.created_at),
            ("STATE", lambda d: d.state.value),
            ("ATTEMPTS", lambda d: d.attempts),
            ("STATUS", lambda d: d.status),
            ("NEXT", lambda d: d.due_at if d.state.value == "waiting" else None),
            ("WHAT", lambda d: d.title),
            ("PROBLEM", lambda d: d.problem),
        ],
        empty=f"Nothing was sent to {name} yet. Test it: mill notification channel test {name}",
        drop=("NEXT", "ATTEMPTS"),
    )


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove a channel. What waits for it is not sent.

    Example: mill notification channel rm mail
    """
    mill.confirm(f"Remove the channel {name}?", yes=yes)
    remove_channel(mill.api, name, mill.flags.project)
    mill.out.note(f"Channel {name} removed.")


def kind_of(name: str) -> NotificationKind:
    try:
        return NotificationKind(name)
    except ValueError:
        known = ", ".join(kind.value for kind in NotificationKind)
        raise BadRequest(f"{name!r} is not a kind of notification.", hint=f"Choose from: {known}") from None


def _kinds(channel: Channel) -> str:
    return "all" if len(channel.kinds) == len(NotificationKind) else ", ".join(kind.value for kind in channel.kinds)


def _show(mill: Session, channel: Channel, secret: str | None = None) -> None:
    mill.out.shape(
        channel,
        [
            ("channel", channel.name),
            ("project", channel.project),
            ("type", channel.type.value),
            ("to", channel.to),
            ("kinds", _kinds(channel)),
            ("secret", secret),
        ],
    )
