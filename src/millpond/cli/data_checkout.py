"""`mill data checkout`: another commit in the same folder."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.here import here, warn_with
from millpond.cli.progress import Meter, going_on, tell
from millpond.cli.session import Session
from millpond.client.checkout import checkout

app = typer.Typer()


@command(app, "checkout")
def check_out(
    mill: Session,
    ref: Annotated[str, typer.Argument(metavar="REF", help="A branch, tag or commit of this folder's dataset.")],
    force: Annotated[bool, typer.Option("--force", "-f", help="Lose what was changed here and not committed.")] = False,
) -> None:
    """Make this folder hold another commit, moving only what differs.

    What you changed is kept, or, where the other commit has something else, named: then nothing happens.
    """
    copy = here(mill)
    with Meter(mill.out, f"Checking out {copy.dataset}@{ref}") as meter, going_on():
        done = checkout(mill.api, copy, ref, force=force, progress=tell(meter), warn=warn_with(mill))
    count = f"{len(done.changes):,} paths changed" if done.changes else "nothing had to change"
    mill.out.note(f"This folder holds {copy.dataset}@{ref} ({done.commit.id[:12]}) now: {count}.")
    if done.copy.branch != ref:
        mill.out.note(f"{ref} is not a branch: `mill data sync` goes on with {done.copy.branch}.")
    if mill.out.as_json:
        mill.out.shape(done.commit, [])
