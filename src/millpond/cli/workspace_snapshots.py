"""`mill workspace snapshot`, `snapshots`, `restore`, `schedule`, `schedules`: frozen states of workspaces."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.output import Column
from millpond.cli.session import Session
from millpond.cli.values import Bytes, CommitId
from millpond.cli.workspace_arguments import NoWait, WorkspaceName, show_workspace, watch
from millpond.client import workspaces as calls
from millpond.errors import BadRequest
from millpond.model.quantity import format_seconds, parse_seconds
from millpond.model.workspace import split_snapshot
from millpond.wire.workspace_views import ScheduleCreate, SnapshotSchedule, WorkspaceSnapshot

app = typer.Typer()

Keep = Annotated[
    str | None, typer.Option(metavar="N|TIME", help="Keep the newest N of this name, or those of a time, like 30d.")
]


@command(app, "snapshot")
def snapshot(
    mill: Session,
    workspace: WorkspaceName,
    name: Annotated[str | None, typer.Argument(metavar="SNAPSHOT", help="Name (default: made of the time).")] = None,
    keep: Keep = None,
    kept: Annotated[bool, typer.Option("--kept", help="Wait until it is in the lake as well.")] = False,
    no_wait: NoWait = False,
) -> None:
    """Take a snapshot: at once on the volume, then kept in the lake in the background.

    With --keep, the name is that of a series: the time is added, and older ones go.

    Example: mill workspace snapshot notes daily --keep 7
    """
    taken = calls.take_snapshot(mill.api, mill.project, workspace, name=name, keep=keep)
    if not no_wait:
        taken = calls.wait_for_snapshot(mill.api, mill.project, workspace, taken.name, kept=kept)
    mill.out.note(f"Snapshot {workspace}@{taken.name} {'is being taken' if no_wait else 'taken'}.")
    show_snapshot(mill, taken)


@command(app, "snapshots")
def snapshots(mill: Session, workspace: WorkspaceName) -> None:
    """List the snapshots of a workspace, newest first.

    Example: mill workspace snapshots notes
    """
    columns: list[Column[WorkspaceSnapshot]] = [
        ("N", lambda s: s.number),
        ("SNAPSHOT", lambda s: s.name),
        ("STATE", lambda s: s.state.value),
        ("WHERE", where),
        ("TAKEN", lambda s: s.taken_at),
        ("FILES", lambda s: s.files),
        ("SIZE", lambda s: Bytes(s.bytes)),
        ("UNIQUE", lambda s: Bytes(s.unique_bytes)),
        ("CONSISTENCY", lambda s: s.consistency.value if s.consistency else None),
        ("RUN", lambda s: s.run),
        ("BY", lambda s: s.created_by),
        ("PROBLEM", lambda s: s.problem),
    ]
    found = calls.list_snapshots(mill.api, mill.project, workspace)
    empty = f"No snapshots yet. Take one: mill workspace snapshot {workspace}"
    mill.out.items(found, columns, empty=empty, drop=["BY", "CONSISTENCY", "UNIQUE", "FILES"])


@command(app, "restore")
def restore(
    mill: Session,
    snapshot: Annotated[str, typer.Argument(metavar="WORKSPACE@SNAPSHOT", help="What to restore.")],
    into: Annotated[
        str | None, typer.Option(metavar="NAME", help="Restore into a new workspace (default: in place).")
    ] = None,
    no_wait: NoWait = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
) -> None:
    """Put a snapshot in the place of a workspace's content, after a snapshot of that; or into a new workspace.

    Example: mill workspace restore notes@before
    """
    name, wanted = split_snapshot(snapshot)
    if into is None:
        mill.confirm(f"Replace the content of workspace {name}? A snapshot of it is taken first.", yes=yes)
    found = calls.restore_workspace(mill.api, mill.project, name, wanted, into=into)
    if not no_wait:
        found = watch.until_ready(mill, found.name)
        mill.out.note(f"Workspace {found.name} holds what {snapshot} held.")
    show_workspace(mill, found)


@command(app, "schedule")
def schedule(
    mill: Session,
    workspace: WorkspaceName,
    series: Annotated[str, typer.Argument(metavar="SERIES", help="Name of the snapshots, like daily.")],
    every: Annotated[str | None, typer.Option(metavar="TIME", help="Time between them, like 1h.")] = None,
    cron: Annotated[str | None, typer.Option(metavar="CRON", help="When, like '0 3 * * *'.")] = None,
    timezone: Annotated[str, typer.Option(metavar="ZONE", help="Time zone of --cron.")] = "UTC",
    keep: Keep = None,
    off: Annotated[bool, typer.Option("--off", help="End the schedule; its snapshots stay.")] = False,
) -> None:
    """Take snapshots of a workspace by a schedule.

    Example: mill workspace schedule notes daily --cron '0 3 * * *' --keep 7
    """
    if off:
        calls.delete_schedule(mill.api, mill.project, workspace, series)
        mill.out.note(f"Schedule {series} of {workspace} ended.")
        return
    if (every is None) == (cron is None):
        raise BadRequest("Give either --every or --cron.", hint="For example: --every 1h --keep 24")
    request = ScheduleCreate(
        cron=cron or "", timezone=timezone, every_seconds=parse_seconds(every) if every else 0, keep=keep
    )
    made = calls.put_schedule(mill.api, mill.project, workspace, series, request)
    mill.out.note(f"Snapshots {series} of {workspace} are taken by themselves, next at {made.next_at:%Y-%m-%d %H:%M}.")
    mill.out.shape(made, [("series", made.series), ("when", when(made)), ("keep", made.keep), ("next", made.next_at)])


@command(app, "schedules")
def schedules(mill: Session, workspace: WorkspaceName) -> None:
    """List the schedules of a workspace.

    Example: mill workspace schedules notes
    """
    columns: list[Column[SnapshotSchedule]] = [
        ("SERIES", lambda s: s.series),
        ("WHEN", when),
        ("KEEP", lambda s: s.keep),
        ("NEXT", lambda s: s.next_at),
        ("LAST", lambda s: s.last_at),
        ("BY", lambda s: s.created_by),
        ("PROBLEM", lambda s: s.problem),
    ]
    empty = f"No schedules yet. Add one: mill workspace schedule {workspace} daily --every 1d --keep 7"
    mill.out.items(calls.list_schedules(mill.api, mill.project, workspace), columns, empty=empty, drop=["BY"])


def when(one: SnapshotSchedule) -> str:
    return f"{one.cron} ({one.timezone})" if one.cron else f"every {format_seconds(one.every_seconds)}"


def where(one: WorkspaceSnapshot) -> str:
    places = [*(["volume"] if one.near else []), *(["lake"] if one.commit else [])]
    return " and ".join(places)


def show_snapshot(mill: Session, one: WorkspaceSnapshot) -> None:
    mill.out.shape(
        one,
        [
            ("snapshot", f"{one.workspace}@{one.name}"),
            ("number", one.number),
            ("state", one.state.value),
            ("is on", where(one)),
            ("problem", one.problem),
            ("taken", one.taken_at),
            ("consistency", one.consistency.value if one.consistency else None),
            ("files", one.files),
            ("size", Bytes(one.bytes)),
            ("commit", CommitId(one.commit) if one.commit else None),
            ("run", one.run),
            ("keep", one.keep),
        ],
    )
