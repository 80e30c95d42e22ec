"""`mill mirror`: what datasets and workspaces hold, kept the same in buckets and at other sites."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.values import Bytes, Seconds
from millpond.client.mirrors import (
    change_mirror,
    create_mirror,
    delete_mirror,
    get_mirror,
    list_mirrors,
    plan_mirror,
    plan_new_mirror,
    run_mirror,
    wait_for_run,
)
from millpond.errors import MillError
from millpond.model.quantity import format_bytes, format_count, format_seconds, parse_seconds
from millpond.wire.mirrors import Mirror, MirrorChange, MirrorCreate, MirrorIssue, MirrorLag, MirrorResult

app = typer.Typer()

Name = Annotated[str, typer.Argument(help="Name of the mirror.")]
Every = Annotated[str, typer.Option(metavar="TIME", help="Interval, like 15m, 6h or 1d.")]
_CONFLICTS_SHOWN = 20


@command(app, "add")
def add(
    mill: Session,
    source: Annotated[str, typer.Argument(metavar="FROM", help="DATASET@BRANCH or WORKSPACE.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="s3://bucket/prefix, or the name of another site.")],
    every: Every = "1h",
    label: Annotated[
        str, typer.Option(help="Of a workspace, mirror the newest kept snapshot of this series, like daily.")
    ] = "",
    connection: Annotated[
        str | None, typer.Option(help="Connection to write through (default: the one that covers the bucket).")
    ] = None,
    volume: Annotated[str | None, typer.Option(help="Volume of the site (default: the best one).")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the mirror (default: that of what is mirrored).")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be mirrored. Change nothing.")] = False,
) -> None:
    """Mirror a dataset branch or a workspace to a bucket or another site, now and on a schedule. Only changes are sent.

    What others put or changed at the target is listed and never overwritten. Files removed at the source are removed
    at the target if the mirror has put them there.

    Example: mill mirror add x-ray@main s3://archive/x-ray --every 1h
    """
    asked = MirrorCreate(
        source=source, target=target, name=name, label=label, connection=connection, volume=volume,
        every_seconds=parse_seconds(every),
    )  # fmt: skip
    if dry_run:
        _show_plan(mill, plan_new_mirror(mill.api, mill.project, asked))
        return
    mirror = create_mirror(mill.api, mill.project, asked)
    mill.out.note(f"Mirror {mirror.name} added. It runs now and every {format_seconds(mirror.every_seconds)}.")
    _show(mill, mirror)


@command(app, "list")
def list_all(mill: Session) -> None:
    """List mirrors, with how far each is behind and the result of its last run.

    Example: mill mirror list
    """
    mill.out.items(
        list_mirrors(mill.api, mill.project),
        [
            ("MIRROR", lambda m: m.name),
            ("STATE", lambda m: m.state),
            ("FROM", lambda m: m.source),
            ("TO", lambda m: m.target),
            ("EVERY", lambda m: Seconds(m.every_seconds)),
            ("BEHIND", lambda m: describe_lag(m.lag)),
            ("CONFLICTS", lambda m: m.result.conflict_count if m.result else None),
            ("LAST RUN", lambda m: m.ended_at),
            ("NEXT RUN", lambda m: m.next_at),
            ("PROBLEM", lambda m: m.problem),
        ],
        empty="No mirrors yet. Add one: mill mirror add DATASET s3://bucket/prefix --every 1h",
    )


@command(app, "show")
def show(mill: Session, name: Name) -> None:
    """Show a mirror with its conflicts.

    Example: mill mirror show x-ray
    """
    _show(mill, get_mirror(mill.api, mill.project, name))


@command(app, "run")
def run(
    mill: Session,
    name: Name,
    wait: Annotated[bool, typer.Option(help="Wait until the run has ended.")] = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what a run would do. Change nothing.")] = False,
) -> None:
    """Run a mirror now. Exit code 1 if the run fails.

    Example: mill mirror run x-ray --wait
    """
    if dry_run:
        _show_plan(mill, plan_mirror(mill.api, mill.project, name))
        return
    mirror = run_mirror(mill.api, mill.project, name)
    if wait:
        mill.out.note(f"Running {name} …")
        mirror = wait_for_run(mill.api, mirror)
    _show(mill, mirror)
    if wait and mirror.problem is not None:
        if mill.out.as_json:
            raise typer.Exit(1)
        raise MillError(f"The run failed: {mirror.problem}", hint="It will be retried automatically.")


@command(app, "pause")
def pause(mill: Session, name: Name) -> None:
    """Pause a mirror. A run under way stops, and goes on from there later.

    Example: mill mirror pause x-ray
    """
    _show(mill, change_mirror(mill.api, mill.project, name, MirrorChange(paused=True)))


@command(app, "resume")
def resume(mill: Session, name: Name) -> None:
    """Resume a paused mirror. From now on it runs with your permissions.

    Example: mill mirror resume x-ray
    """
    _show(mill, change_mirror(mill.api, mill.project, name, MirrorChange(paused=False)))


@command(app, "set")
def change(mill: Session, name: Name, every: Every) -> None:
    """Change how often a mirror runs.

    Example: mill mirror set x-ray --every 6h
    """
    _show(mill, change_mirror(mill.api, mill.project, name, MirrorChange(every_seconds=parse_seconds(every))))


@command(app, "rm")
def remove(
    mill: Session, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False
) -> None:
    """Remove a mirror. What it has put at its target stays there.

    Example: mill mirror rm x-ray
    """
    mill.confirm(f"Remove the mirror {name}?", yes=yes)
    delete_mirror(mill.api, mill.project, name)
    mill.out.note(f"Mirror {name} removed. What it put at its target stays there.")


def describe_lag(lag: MirrorLag | None) -> str | None:
    """`2 commits, 1.2 GB, 3m`; `nothing` when the target has everything."""
    if lag is None:
        return None
    if not lag.commits:
        return "nothing"
    return f"{format_count(lag.commits, 'commit')}, {format_bytes(lag.bytes)}, {format_seconds(int(lag.seconds))}"


def _show(mill: Session, mirror: Mirror) -> None:
    mill.out.shape(
        mirror,
        [
            ("mirror", mirror.name),
            ("state", mirror.state),
            ("progress", mirror.progress),
            ("from", mirror.source),
            ("to", mirror.target),
            ("connection", mirror.connection),
            ("every", Seconds(mirror.every_seconds)),
            ("runs as", mirror.user),
            ("behind", describe_lag(mirror.lag)),
            ("content of", mirror.content_at),
            ("last run", mirror.ended_at),
            ("next run", mirror.next_at),
            *(_counts(mirror.result) if mirror.result else ()),
            ("problem", mirror.problem),
        ],
    )


def _show_plan(mill: Session, plan: MirrorResult) -> None:
    mill.out.shape(plan, _counts(plan))
    if not mill.out.as_json:
        mill.out.note("Nothing was changed.")


def _counts(result: MirrorResult) -> list[tuple[str, object]]:
    return [
        ("copied", result.copied),
        ("bytes", Bytes(result.copied_bytes)),
        ("unchanged", result.unchanged),
        ("removed", result.removed),
        ("conflicts", _issues(result.conflict_count, result.conflicts)),
        ("left out", _issues(result.skipped_count, result.skipped)),
        ("failed", _issues(result.failed_count, result.failed)),
    ]


def _issues(count: int, named: list[MirrorIssue]) -> list[str] | None:
    if not count:
        return None
    shown = [f"{one.path}: {one.reason}" for one in named[:_CONFLICTS_SHOWN]]
    return [*shown, f"and {count - len(shown):,} more"] if count > len(shown) else shown
