"""`mill audit`: who changed what, from where, and how long that is kept."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.default_verb import ListByDefault, ShowByDefault
from millpond.cli.session import Session
from millpond.client.audits import export_entries, get_retention, list_entries, set_retention
from millpond.errors import BadRequest
from millpond.model.quantity import format_seconds, parse_seconds
from millpond.wire.people import AuditRecord

app = typer.Typer(cls=ListByDefault)
retention = typer.Typer(cls=ShowByDefault, help="How long audit entries are kept.")
app.add_typer(retention, name="retention")

Who = Annotated[str | None, typer.Option(metavar="NAME", help="Only what this user, agent or service account did.")]
Action = Annotated[
    str | None,
    typer.Option(metavar="NOUN[.VERB]", help="Only this, like `user.create`; or all of a noun, like `user`."),
]
Subject = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only what was done to this; `vision/*` for all that begins so.")
]
Address = Annotated[str | None, typer.Option(metavar="IP", help="Only requests from this address.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="Since a date or time, or so long ago, like 2d.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Before a date or time, or so long ago.")]
Text = Annotated[str | None, typer.Option("--text", metavar="WORDS", help="Only entries with these words anywhere.")]


class Format(StrEnum):
    JSONL = "jsonl"
    SYSLOG = "syslog"


@command(app, "list")
def list_all(
    mill: Session,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of entries.", min=1)] = 50,
    who: Who = None,
    action: Action = None,
    subject: Subject = None,
    address: Address = None,
    since: Since = None,
    until: Until = None,
    text: Text = None,
) -> None:
    """Show the audit log, newest first. `list` may be left out.

    With -p, that of a project, for its administrators; without, everything, for site administrators.

    Example: mill audit list --who ada --since 7d --action member
    """
    chosen = _chosen(who, action, subject, address, since, until, text)
    mill.out.items(
        list_entries(mill.api, mill.flags.project, at_most=limit, **chosen),
        [
            ("WHEN", lambda r: r.at),
            ("WHO", lambda r: r.actor),
            ("FROM", lambda r: r.address),
            ("WHAT", lambda r: r.action),
            ("SUBJECT", lambda r: r.subject),
            ("PROJECT", lambda r: r.project),
            ("DETAILS", details),
        ],
        empty="No entries found.",
    )


@command(app, "export")
def export(
    mill: Session,
    form: Annotated[Format, typer.Option("--format", help="JSON lines, or syslog (RFC 5424).")] = Format.JSONL,
    who: Who = None,
    action: Action = None,
    subject: Subject = None,
    address: Address = None,
    since: Since = None,
    until: Until = None,
    text: Text = None,
) -> None:
    """Print all entries, oldest first, a line for each. The export is recorded as well.

    Example: mill audit export --since 2026-01-01 --format jsonl
    """
    chosen = _chosen(who, action, subject, address, since, until, text)
    raw = mill.out.raw
    for piece in export_entries(mill.api, mill.flags.project, format=form.value, **chosen):
        raw.write(piece)
    raw.flush()


@command(retention, "show")
def show_retention(mill: Session) -> None:
    """Show how long audit entries are kept. `show` may be left out.

    Example: mill audit retention show
    """
    found = get_retention(mill.api)
    mill.out.shape(found, [("kept", _kept(found.keep_seconds))])


@command(retention, "set")
def put_retention(
    mill: Session,
    keep: Annotated[str, typer.Argument(metavar="TIME|never", help="Age, like 400d; `never` removes nothing.")],
) -> None:
    """Remove audit entries from this age on, at least 30d. Each removal is recorded with its count.

    Example: mill audit retention set 400d
    """
    seconds = None if keep in ("never", "forever") else int(parse_seconds(keep))
    found = set_retention(mill.api, seconds)
    mill.out.note(f"Audit entries are kept {_kept(found.keep_seconds)}.")


def details(entry: AuditRecord) -> str:
    """What changed, and what else is known of it."""
    names = dict.fromkeys([*entry.before, *entry.after])
    changes = [_changed(name, entry.before, entry.after) for name in names]
    known = [json.dumps(entry.details, ensure_ascii=False)] if entry.details else []
    return ", ".join([*changes, *known])


def _changed(name: str, before: dict[str, object], after: dict[str, object]) -> str:
    old, new = (json.dumps(side.get(name), ensure_ascii=False) if name in side else "–" for side in (before, after))
    return f"{name}: {old} → {new}"


def _kept(seconds: int | None) -> str:
    return "for ever" if seconds is None else f"{format_seconds(seconds)}"


def _chosen(
    who: str | None, action: str | None, subject: str | None, address: str | None, since: str | None,
    until: str | None, text: str | None,
) -> dict[str, Any]:  # fmt: skip
    now = datetime.now(UTC)
    return {
        "who": who, "action": action, "subject": subject, "address": address, "since": moment_of(since, "--since", now),
        "until": moment_of(until, "--until", now), "q": text,
    }  # fmt: skip


def moment_of(written: str | None, option: str, now: datetime) -> datetime | None:
    """A date or time (of this machine's zone unless it has another), or so long before now."""
    if written is None:
        return None
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        try:
            return now - timedelta(seconds=parse_seconds(written))
        except (BadRequest, OverflowError) as error:
            raise BadRequest(
                f"{option} {written[:80]!r} is not a time.", hint="Write it as 2d, 2026-01-31 or 2026-01-31T08:00."
            ) from error
    return found.astimezone() if found.tzinfo is None else found
