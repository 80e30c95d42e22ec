"""The commands of `mill data` that look at a folder or move bytes: sync, status, diff, clone, checkout."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.naming import named, two_refs
from millpond.cli.progress import Meter, going_on, tell
from millpond.cli.session import Session
from millpond.client.branches import create_ref
from millpond.client.checkout import checkout
from millpond.client.clone import clone as clone_commit
from millpond.client.datasets import branch_head, diff, get_dataset, list_datasets
from millpond.client.http import Api
from millpond.client.sync import Status, compare, sync
from millpond.client.working_copy import WorkingCopy, require_working_copy
from millpond.errors import Conflict, MillError, NotFound
from millpond.lake.renames import summarise, with_renames
from millpond.lake.scan import Warn
from millpond.model.names import check_ref_name
from millpond.model.path import to_text
from millpond.model.quantity import format_bytes, format_seconds, format_tree
from millpond.model.tree import TreeChange
from millpond.wire.data import Change, Diff

_SIGNS = {"added": "+", "removed": "-", "changed": "~", "renamed": ">"}


def add_moving_commands(app: typer.Typer) -> None:
    command(app, "sync")(sync_folder)
    command(app, "status")(status)
    command(app, "diff")(show_diff)
    command(app, "clone")(clone)
    command(app, "checkout")(check_out)


def sync_folder(
    mill: Session,
    message: Annotated[str, typer.Option("--message", "-m", help="What changed, in a few words.")] = "",
    branch: Annotated[str | None, typer.Option(help="Commit to this branch, now and from now on.")] = None,
    rehash: Annotated[
        bool, typer.Option("--rehash", help="Read every file again, also those that look unchanged.")
    ] = False,
    rebase: Annotated[
        bool, typer.Option("--rebase", help="If somebody else committed: bring their changes and yours together.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Put what this folder holds into the lake as a new commit.

    Only what the project lacks is sent. Interrupted at any moment, running it again goes on.
    With --rebase, what others committed since is brought here, and your changes are committed on top; a path that
    both changed in different ways is named, and nothing happens.
    """
    copy = here(mill)
    if branch and branch != copy.branch:
        copy = _on_branch(mill.api, copy, check_ref_name(branch), dry_run=dry_run)
    if dry_run:
        _show_status(mill, copy, _compare(mill, copy, rehash))
        return
    with Meter(mill.out, f"Syncing {copy.written}") as meter, going_on():
        done = sync(
            mill.api,
            copy,
            message=message,
            rehash=rehash,
            onto_newest=rebase,
            progress=tell(meter),
            warn=_warn(mill),
        )
    where = f"{copy.dataset}@{copy.branch}"
    size = format_tree(done.commit.files, done.commit.bytes)
    if done.received:
        changes = "1 change" if done.received == 1 else f"{done.received:,} changes"
        mill.out.note(f"Brought {changes} of {where} here.")
    if done.changed:
        sent, took = format_bytes(done.sent), format_seconds(meter.seconds)
        mill.out.note(f"{where} is at {done.commit.id[:12]} now: {size}; sent {sent} in {took}.")
    else:
        nothing = "Nothing of yours was new" if done.received else "Nothing has changed"
        mill.out.note(f"{nothing}: {where} is at {done.commit.id[:12]} ({size}).")
    if mill.out.as_json:
        mill.out.shape(done.commit, [])


def status(
    mill: Session,
    rehash: Annotated[bool, typer.Option("--rehash", help="Read every file again.")] = False,
) -> None:
    """Show how this folder differs from the newest commit of its branch."""
    copy = here(mill)
    _show_status(mill, copy, _compare(mill, copy, rehash))


def show_diff(
    mill: Session,
    before: Annotated[str | None, typer.Argument(metavar="DATASET@REF", help="The older commit.")] = None,
    after: Annotated[str | None, typer.Argument(metavar="REF", help="The newer commit (main).")] = None,
) -> None:
    """Show what changed between two commits; without any, between the newest commit and this folder."""
    if before is None:
        status(mill)
        return
    left, right = two_refs(mill, before, after or "main")
    _show_diff(mill, diff(mill.api, left.project, left.dataset, left.ref, right.ref))


def clone(
    mill: Session,
    dataset: Annotated[str, typer.Argument(metavar="DATASET[@REF]", help="The dataset, and the ref (main).")],
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A new folder (named like the dataset).")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="GLOB", help="Only what matches, as in .gitignore: '*.png', 'train/'. Repeat."),
    ] = None,
) -> None:
    """Bring a commit, or with --only a part of it, into a new folder, from which `mill data sync` works.

    What was not fetched stays in the dataset when the folder is synced.
    """
    ref = named(mill, dataset)
    target = directory or Path(ref.dataset.lstrip("."))
    with Meter(mill.out, f"Cloning {ref}") as meter, going_on():
        done = clone_commit(mill.api, ref.project, ref.dataset, ref.ref, target, only=only or (), progress=tell(meter))
    size = format_tree(done.commit.files, done.commit.bytes)
    if only:
        moved = done.fetched.moved
        size = f"{moved.files:,} of {done.commit.files:,} files, {format_bytes(moved.bytes)}"
        if not moved.files:
            mill.out.warn(f"No file of {ref} matches {', '.join(only)}.")
    mill.out.note(f"{ref} ({done.commit.id[:12]}) is in {target}: {size} in {format_seconds(meter.seconds)}.")
    if mill.out.as_json:
        mill.out.shape(done.commit, [])


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
        done = checkout(mill.api, copy, ref, force=force, progress=tell(meter), warn=_warn(mill))
    count = f"{len(done.changes):,} paths changed" if done.changes else "nothing had to change"
    mill.out.note(f"This folder holds {copy.dataset}@{ref} ({done.commit.id[:12]}) now: {count}.")
    if done.copy.branch != ref:
        mill.out.note(f"{ref} is not a branch: `mill data sync` goes on with {done.copy.branch}.")
    if mill.out.as_json:
        mill.out.shape(done.commit, [])


def here(mill: Session) -> WorkingCopy:
    """The working copy around us, after a look whether its dataset is still the one it was made from.

    A server may have moved to another address, a dataset may have been renamed: what counts is the dataset's id.
    """
    copy = require_working_copy(Path.cwd())
    found = replace(copy, server=mill.target.server, dataset=_name_now(mill, copy))
    if found != copy:
        found.save()
    return found


def _name_now(mill: Session, copy: WorkingCopy) -> str:
    """What the dataset of this folder is called now, looked for by its id where its old name does not lead to it."""
    problem: MillError
    try:
        if get_dataset(mill.api, copy.project, copy.dataset).id == copy.dataset_id:
            return copy.dataset
        problem = Conflict(
            f"{copy.written} at {mill.target.server} is not the dataset this folder was made from.",
            hint=f"Remove {copy.folder} and run mill data init or clone again, or name the right --server.",
        )
    except NotFound as error:
        problem = error
    for dataset in list_datasets(mill.api, project=copy.project):
        if dataset.id == copy.dataset_id:
            mill.out.note(f"{copy.written} is called {dataset.name} now.")
            return dataset.name
    raise problem


def _on_branch(api: Api, copy: WorkingCopy, branch: str, *, dry_run: bool) -> WorkingCopy:
    """The same folder on another branch: a new one begins at the commit that this folder holds."""
    if branch_head(api, copy.project, copy.dataset, branch) is not None:
        return copy.at(copy.head, branch)
    if copy.head is None or dry_run:
        return copy.at(None, branch)
    create_ref(api, copy.project, copy.dataset, branch, at=copy.head)
    return copy.at(copy.head, branch)


def _compare(mill: Session, copy: WorkingCopy, rehash: bool) -> Status:
    with Meter(mill.out, f"Looking at {copy.root.name}") as meter:
        return compare(mill.api, copy, rehash=rehash, progress=tell(meter), warn=_warn(mill))


def _show_status(mill: Session, copy: WorkingCopy, found: Status) -> None:
    head = found.head.id if found.head else ""
    _show_diff(mill, _summary(head, found.tree, found.changes))
    if copy.moving_to:
        mill.out.warn(
            f"Bringing {copy.dataset}@{copy.moving_to[:12]} here was interrupted: "
            f"let it arrive with mill data checkout {copy.moving_to[:12]}."
        )
    if not found.changes:
        mill.out.note(f"This folder holds what {copy.dataset}@{copy.branch} holds.")
    if copy.head and found.head and found.head.id != copy.head:
        mill.out.warn(f"{found.head.author} committed to {copy.branch} since this folder was last synced.")


def _show_diff(mill: Session, found: Diff) -> None:
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    for change in found.items:
        mill.out.line(_line(change) if mill.out.for_people else _plain(change))
    grown = found.added_bytes - found.removed_bytes
    mill.out.note(
        f"{found.added:,} added, {found.removed:,} removed, {found.changed:,} changed, {found.renamed:,} renamed; "
        f"{'+' if grown >= 0 else '-'}{format_bytes(abs(grown))}"
    )
    if not found.renames_complete:
        mill.out.note("So much has changed that not all renames were looked for.")


def _plain(change: Change) -> str:
    fields = [_SIGNS[change.change], change.path, *([change.path_before] if change.path_before else [])]
    return "\t".join(fields)


def _line(change: Change) -> str:
    size = change.size_after if change.size_after is not None else change.size_before
    came_from = f"{change.path_before} > " if change.path_before else ""
    sign = " " if came_from else _SIGNS[change.change]
    return f"{sign} {came_from}{change.path}  ({format_bytes(size or 0)})"


def _change(change: TreeChange) -> Change:
    return Change(
        path=to_text(change.path),
        change=change.change,
        size_before=change.before.size if change.before else None,
        size_after=change.after.size if change.after else None,
        path_before=to_text(change.before.path) if change.before and change.change == "renamed" else None,
    )


def _summary(before: str, after: str, changes: list[TreeChange]) -> Diff:
    counted = summarise(changes)
    return Diff(
        before=before,
        after=after,
        added=counted.added,
        removed=counted.removed,
        changed=counted.changed,
        renamed=counted.renamed,
        added_bytes=counted.added_bytes,
        removed_bytes=counted.removed_bytes,
        renamed_bytes=counted.renamed_bytes,
        renames_complete=counted.complete,
        items=[_change(change) for change in with_renames(changes, counted)],
    )


def _warn(mill: Session) -> Warn:
    return lambda path, why: mill.out.warn(f"{to_text(path)} {why} and is left out")


app = typer.Typer()
add_moving_commands(app)
