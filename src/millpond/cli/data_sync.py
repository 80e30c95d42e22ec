"""`mill data sync`: what a folder holds as a new commit."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.progress import Meter, going_on, tell
from millpond.cli.session import Session
from millpond.cli.working_copy import here, skipped_document, warn_skipped
from millpond.client.commits import begin_branch, branch_head
from millpond.client.http import Api
from millpond.client.sync import arrived, sync
from millpond.client.working_copy import WorkingCopy
from millpond.client.working_tree import base_gone
from millpond.errors import NotFound
from millpond.model.names import check_ref_name
from millpond.model.quantity import format_bytes, format_count, format_seconds, format_tree

app = typer.Typer()


@command(app, "sync")
def sync_folder(
    mill: Session,
    message: Annotated[str, typer.Option("--message", "-m", help="Commit message.")] = "",
    branch: Annotated[str | None, typer.Option(help="Commit to this branch, and stay on it.")] = None,
    rehash: Annotated[bool, typer.Option("--rehash", help="Read all files, also those that look unchanged.")] = False,
    rebase: Annotated[
        bool, typer.Option("--rebase", help="Apply commits of others first, then commit your changes on top.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, without committing.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="With --dry-run: show all changes, also a long list.")
    ] = False,
) -> None:
    """Commit this folder to its dataset and upload what is new.

    Only data that the project does not have yet is sent. An interrupted sync continues where it stopped.
    Sockets, devices, FIFOs and paths that are too long are skipped with a warning.
    With --rebase, newer commits of others are applied to this folder first; if both sides changed a path differently,
    the conflicts are listed and nothing changes.

    Example: mill data sync -m "add 2026 images"
    """
    copy = here(mill)
    if branch and branch != copy.branch:
        check_ref_name(branch)
        # Before anything is made: half way to another commit is no place where a branch begins.
        copy = copy if dry_run else arrived(mill.api, copy, finish=rebase)
        copy = _on_branch(mill.api, copy, branch, dry_run=dry_run)
    if dry_run:
        # What shows differences takes as long to load as all else that syncing needs.
        from millpond.cli.data_status import show_status  # noqa: PLC0415

        show_status(mill, copy, rehash=rehash, everything=everything)
        return
    with Meter(mill.out, f"Syncing {copy.written}") as meter, going_on():
        done = sync(
            mill.api,
            copy,
            message=message,
            rehash=rehash,
            onto_newest=rebase,
            progress=tell(meter),
        )
    warn_skipped(mill, done.skipped)
    where = f"{copy.dataset}@{copy.branch}"
    size = format_tree(done.commit.files, done.commit.bytes)
    if done.received:
        changes = format_count(done.received, "change")
        mill.out.note(f"Applied {changes} of {where} to this folder.")
    if done.changed:
        sent, took = format_bytes(done.sent), format_seconds(meter.seconds)
        mill.out.note(f"{where} is now at {done.commit.id[:12]}: {size}; sent {sent} in {took}.")
    else:
        nothing = "No changes of yours to commit" if done.received else "No changes"
        mill.out.note(f"{nothing}: {where} is at {done.commit.id[:12]} ({size}).")
    if mill.out.as_json:
        mill.out.json({**done.commit.model_dump(mode="json"), "skipped": skipped_document(done.skipped)})


def _on_branch(api: Api, copy: WorkingCopy, branch: str, *, dry_run: bool) -> WorkingCopy:
    """The same folder on another branch: a new one begins at the commit that this folder holds."""
    if branch_head(api, copy.project, copy.dataset, branch) is not None:
        return copy.at(copy.head, branch)
    if copy.head is None or dry_run:
        return copy.at(None, branch)
    try:
        begin_branch(api, copy.project, copy.dataset, branch, at=copy.head)
    except NotFound as error:
        if copy.only:  # the rest of its tree is gone with the commit
            raise base_gone(copy) from error
        return copy.at(None, branch)  # what is here is kept, as a beginning
    return copy.at(copy.head, branch)
