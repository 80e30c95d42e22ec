"""`mill data checkout`: another commit in the same folder."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.progress import Meter, going_on, tell
from millpond.cli.session import Session
from millpond.cli.working_copy import here, warn_skipped
from millpond.client.checkout import checkout
from millpond.lake.scan import Skipped
from millpond.model.quantity import format_count

app = typer.Typer()


@command(app, "checkout")
def check_out(
    mill: Session,
    ref: Annotated[str, typer.Argument(metavar="REF", help="Branch, tag or commit of this folder's dataset.")],
    force: Annotated[bool, typer.Option("--force", "-f", help="Discard uncommitted changes.")] = False,
) -> None:
    """Switch this folder to another commit, transferring only what differs.

    Uncommitted changes are kept. If they conflict with the other commit, the paths are listed and nothing changes.

    Example: mill data checkout v1
    """
    copy = here(mill)
    with Meter(mill.out, f"Checking out {copy.dataset}@{ref}") as meter, going_on():
        skipped = Skipped()
        done = checkout(mill.api, copy, ref, force=force, progress=tell(meter), warn=skipped)
    warn_skipped(mill, skipped)
    count = f"{format_count(len(done.changes), 'path')} changed" if done.changes else "no files changed"
    mill.out.note(f"This folder is now at {copy.dataset}@{ref} ({done.commit.id[:12]}): {count}.")
    if done.copy.branch != ref:
        mill.out.note(f"{ref} is not a branch: `mill data sync` will commit to {done.copy.branch}.")
    if mill.out.as_json:
        mill.out.shape(done.commit, [])
