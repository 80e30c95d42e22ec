"""`mill lake`: what the object store holds, removing what nothing needs, and starting over from it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.output import Bytes
from millpond.cli.session import Session
from millpond.client import lake_care
from millpond.model.quantity import format_bytes
from millpond.wire.lake import Collected, ProjectCollected

app = typer.Typer()

DataDir = Annotated[Path | None, typer.Option(help="The server's data directory (MILL_DATA_DIR).")]
DatabaseUrl = Annotated[str | None, typer.Option("--db", metavar="URL", help="The server's database.")]
LakeUrl = Annotated[str | None, typer.Option("--lake", metavar="URL", help="The lake.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@command(app, "stats")
def stats(mill: Session) -> None:
    """Show how much the lake holds, and what deduplication and compression save."""
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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go, and why the rest stays.")] = False,
    now: Annotated[
        bool, typer.Option("--now", help="Wait neither a day for uploads to go on nor a week for second thoughts.")
    ] = False,
) -> None:
    """Remove from the lake what nothing needs any more. Safe at any time; uploads that run meanwhile succeed.

    The server does this by itself every day. Deleted datasets stay for 30 days, with --now too.
    """
    found = lake_care.collect(mill.api, dry_run=dry_run, now=now)
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    for project in found.projects:
        _tell(mill, found, project)
    if not found.dry_run:
        mill.out.note(f"{found.objects:,} objects were removed from the lake.")


@command(app, "take-over")
def take_over(
    mill: Session, data_dir: DataDir = None, database: DatabaseUrl = None, lake: LakeUrl = None, yes: Yes = False
) -> None:
    """Let this machine's server write to a lake that another server owned.

    Two servers that write to one lake destroy it: the other one must be gone for good.
    """
    # Only commands for the server's own machine need the server's code, which a client may not have.
    from millpond.cli.up import take_over_lake  # noqa: PLC0415

    mill.confirm("Is the server that owned this lake gone for good?", yes=yes)
    before = take_over_lake(data_dir=data_dir, database_url=database, lake_url=lake)
    mill.out.note(f"The lake is this server's now{f'; it was of database {before}' if before else ''}.")
    if mill.out.as_json:
        mill.out.json({"previous": before})


@command(app, "reindex")
def reindex(
    mill: Session, data_dir: DataDir = None, database: DatabaseUrl = None, lake: LakeUrl = None, yes: Yes = False
) -> None:
    """Bring every dataset, branch, tag and commit back from the lake into an empty database of this machine.

    People, roles, jobs and runs are not in the lake: afterwards only the administrator sees anything.
    """
    from millpond.cli.up import reindex_lake  # noqa: PLC0415 - as above

    mill.confirm("Is the server that owned this lake gone for good?", yes=yes)
    done = reindex_lake(data_dir=data_dir, database_url=database, lake_url=lake)
    for problem in done.problems:
        mill.out.warn(problem)
    mill.out.note(
        f"{done.projects:,} projects, {done.datasets:,} datasets, {done.commits:,} commits, {done.pages:,} pages and "
        f"{done.packs:,} packs are back. Start the server: mill up"
    )
    if mill.out.as_json:
        mill.out.json(dataclasses.asdict(done))


def _tell(mill: Session, found: Collected, project: ProjectCollected) -> None:
    """What goes is data, line by line; the words around it are for people."""
    out = mill.out
    if project.problem is not None:
        out.warn(f"{project.project}: {project.problem}")
        return
    verb = "would go" if found.dry_run else "went"
    out.line(
        f"{project.project}: {format_bytes(project.bytes)} in {project.packs:,} packs {verb}, "
        f"with {project.pages:,} pages and {project.commits:,} commits"
    )
    for commit in project.going_commits:
        out.line(f"  {commit.dataset}@{commit.commit_id[:12]} {verb}: {commit.reason}")
    for item in project.stays:
        out.line(f"  {format_bytes(item.bytes)} in {item.packs:,} packs stay: {item.reason}")
    if project.set_aside:
        out.line(f"  {project.set_aside:,} commits that nothing names are set aside, and go in some days")
