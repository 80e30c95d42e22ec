"""`mill move`: files between a bucket and a workspace or mount, as a job."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.follow import end_with, follow_job
from millpond.cli.session import Session
from millpond.client.moving import submit_move

app = typer.Typer()

From = Annotated[
    str, typer.Argument(metavar="FROM", help="s3://bucket/prefix, WORKSPACE:DIR, mount:NAME or DATASET@REF.")
]
To = Annotated[str, typer.Argument(metavar="TO", help="s3://bucket/prefix, WORKSPACE:DIR or mount:NAME.")]
Through = Annotated[
    str | None, typer.Option("--connection", help="Connection to the bucket (default: the one that covers it).")
]


@command(app, "move")
def move(
    mill: Session,
    source: From,
    target: To,
    connection: Through = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Remove what an earlier move brought and whose original is gone.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be moved. Change nothing.")] = False,
    compute: Annotated[str | None, typer.Option(help="Compute to run on.")] = None,
    wait: Annotated[bool, typer.Option(help="Print the log and wait until the job ends.")] = True,
) -> None:
    """Move the files that differ between a bucket and a workspace, a mount or a commit, as a job.

    What arrived is verified. What somebody else changed at the target is listed and never overwritten. A job that was
    interrupted goes on where it was.

    Example: mill move s3://hospital/2026 lab:raw
    """
    job = submit_move(
        mill.api, mill.project, source, target, connection=connection, delete=delete, dry_run=dry_run, compute=compute
    )
    mill.out.note(f"Job {job.written} ({job.id}) moves {source} to {target}. See: mill logs -f {job.id}")
    if wait:
        end_with(mill, follow_job(mill, job))
    elif mill.out.as_json:
        mill.out.json(job.model_dump(mode="json"))
