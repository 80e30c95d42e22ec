"""`mill lake`: what the object store holds, removing what nothing needs, and starting over from it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli import lake_replica
from millpond.cli.command import command
from millpond.cli.session import Session
from millpond.cli.values import Bytes
from millpond.client import lake_care
from millpond.model.quantity import format_bytes, format_count
from millpond.wire.lake import Collected, ProjectCollected

app = typer.Typer()
lake_replica.add_to(app)

DataDir = Annotated[Path | None, typer.Option(help="Data directory of the server (MILL_DATA_DIR).")]
DatabaseUrl = Annotated[str | None, typer.Option("--db", metavar="URL", help="Database of the server.")]
LakeUrl = Annotated[str | None, typer.Option("--lake", metavar="URL", help="URL or directory of the lake.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]


@command(app, "stats")
def stats(mill: Session) -> None:
    """Show the size of the lake, and what deduplication and compression save.

    Example: mill lake stats
    """
    found = lake_care.stats(mill.api)
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    total = found.total.model_copy(update={"project": "(all)"})
    mill.out.items(
        [*found.projects, total],
        [
            ("PROJECT", lambda p: p.project),
            ("DATASETS", lambda p: p.datasets),
            ("COMMITS", lambda p: p.commits),
            ("LOGICAL", lambda p: Bytes(p.logical_bytes)),
            ("STORED", lambda p: Bytes(p.stored_bytes)),
            ("PACKS", lambda p: p.packs),
            ("SAVED BY SHARING", lambda p: Bytes(p.saved_by_deduplication)),
            ("BY COMPRESSION", lambda p: Bytes(p.saved_by_compression)),
            ("GOING", lambda p: Bytes(p.condemned_bytes)),
        ],
        empty="",
    )


@command(app, "collect")
def collect(
    mill: Session,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be removed, and why the rest stays.")
    ] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Skip the grace periods: a day for uploads, a week for unreferenced commits.")
    ] = False,
) -> None:
    """Remove data from the lake that nothing refers to. Safe at any time, also during uploads.

    The server does this every day. Deleted datasets stay for 30 days, also with --now.

    Example: mill lake collect --dry-run
    """
    found = lake_care.collect(mill.api, dry_run=dry_run, now=now)
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    for project in found.projects:
        _tell(mill, found, project)
    if not found.dry_run:
        mill.out.note(f"{format_count(found.objects, 'object')} removed from the lake.")


@command(app, "take-over")
def take_over(
    mill: Session, data_dir: DataDir = None, database: DatabaseUrl = None, lake: LakeUrl = None, yes: Yes = False
) -> None:
    """Make this machine's server the owner of a lake that another server owned.

    A server that still runs on it stops writing within ten seconds, and only reads from then on.

    Example: mill lake take-over --lake s3://bucket/lake
    """
    # Only commands for the server's own machine need the server's code, which a client may not have.
    from millpond.cli.up import take_over_lake  # noqa: PLC0415

    mill.confirm("The server that owns this lake will only read it from now on. Go on?", yes=yes)
    mill.out.note("Waiting ten seconds if another server owned it, so that it has stopped writing.")
    before = take_over_lake(data_dir=data_dir, database_url=database, lake_url=lake)
    mill.out.note(f"This server now owns the lake{f'; before, database {before} did' if before else ''}.")
    if mill.out.as_json:
        mill.out.json({"previous": before})


@command(app, "reindex")
def reindex(
    mill: Session, data_dir: DataDir = None, database: DatabaseUrl = None, lake: LakeUrl = None, yes: Yes = False
) -> None:
    """Restore all datasets, branches, tags and commits from the lake into an empty database.

    Users, roles, jobs and runs are not stored in the lake: afterwards, only the administrator has access.

    Example: mill lake reindex --data-dir /srv/millpond
    """
    from millpond.cli.up import reindex_lake  # noqa: PLC0415 - as above

    mill.confirm("The server that owns this lake will only read it from now on. Go on?", yes=yes)
    mill.out.note("Waiting ten seconds if another server owned it, so that it has stopped writing.")
    done = reindex_lake(data_dir=data_dir, database_url=database, lake_url=lake)
    for problem in done.problems:
        mill.out.warn(problem)
    mill.out.note(
        f"Restored {format_count(done.projects, 'project')}, "
        f"{format_count(done.datasets, 'dataset')}, {format_count(done.commits, 'commit')}, "
        f"{format_count(done.pages, 'page')} and {format_count(done.packs, 'pack')}. Start the "
        "server: mill up"
    )
    if mill.out.as_json:
        mill.out.json(dataclasses.asdict(done))


@command(app, "reconcile")
def reconcile(
    mill: Session,
    name: Annotated[
        str | None, typer.Argument(metavar="PROJECT", help="The project; without it, all that differ.")
    ] = None,
) -> None:
    """Bring the database up to date with the lake, for example after an older copy of it was restored.

    Datasets that differ from the lake are read-only until then. The lake wins: commits and branches that only it knows
    come in, and a branch that only the database has moved goes back.

    Example: mill lake reconcile vision
    """
    done = lake_care.reconcile(mill.api, name)
    if mill.out.as_json:
        mill.out.shape(done, [])
        return
    for problem in done.problems:
        mill.out.warn(problem)
    if done.projects:
        mill.out.note(f"{done.datasets:,} datasets and {done.commits:,} commits were read from the lake.")
    else:
        mill.out.note("The database agrees with the lake.")


def _tell(mill: Session, found: Collected, project: ProjectCollected) -> None:
    """What goes is data, line by line; the words around it are for people."""
    out = mill.out
    if project.problem is not None:
        out.warn(f"{project.project}: {project.problem}")
        return
    verb = "would be removed" if found.dry_run else "removed"
    out.line(
        f"{project.project}: {format_bytes(project.bytes)} in "
        f"{format_count(project.packs, 'pack')} {verb}, with "
        f"{format_count(project.pages, 'page')} and {format_count(project.commits, 'commit')}"
    )
    for commit in project.going_commits:
        out.line(f"  {commit.dataset}@{commit.commit_id[:12]} {verb}: {commit.reason}")
    for item in project.stays:
        out.line(f"  {format_bytes(item.bytes)} in {format_count(item.packs, 'pack')} kept: {item.reason}")
    if project.set_aside:
        out.line(f"  {format_count(project.set_aside, 'unreferenced commit')} will be removed after the grace period")
