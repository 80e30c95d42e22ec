"""`mill data status` and `diff`: how a folder and its branch, or two commits, differ."""

from __future__ import annotations

from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import two_refs
from millpond.cli.progress import Meter, tell
from millpond.cli.session import Session
from millpond.cli.values import one_line
from millpond.cli.working_copy import here, warn_skipped
from millpond.client.datasets import diff
from millpond.client.sync import compare
from millpond.client.working_copy import WorkingCopy
from millpond.lake.renames import summarise, with_renames
from millpond.model.path import to_text
from millpond.model.quantity import format_bytes
from millpond.model.tree import TreeChange
from millpond.wire.data import Change, Diff

# A terminal shows so many changes; --all, a pipe and --json show all of them.
MOST_SHOWN = 50
_SIGNS = {"added": "+", "removed": "-", "changed": "~", "renamed": ">"}

app = typer.Typer()

All = Annotated[bool, typer.Option("--all", help="Show all changes, also a long list.")]


@command(app, "status")
def status(
    mill: Session,
    rehash: Annotated[bool, typer.Option("--rehash", help="Read all files, also those that look unchanged.")] = False,
    everything: All = False,
) -> None:
    """Show how this folder differs from the newest commit of its branch.

    Example: mill data status
    """
    show_status(mill, here(mill), rehash=rehash, everything=everything)


@command(app, "diff")
def show_diff(
    mill: Session,
    before: Annotated[str | None, typer.Argument(metavar="DATASET@REF", help="Older commit.")] = None,
    after: Annotated[str | None, typer.Argument(metavar="REF", help="Newer commit (default: main).")] = None,
    everything: All = False,
) -> None:
    """Show what changed between two commits. Without arguments, between the newest commit and this folder.

    Example: mill data diff x-ray@v1 v2
    """
    if before is None:
        status(mill, everything=everything)
        return
    left, right = two_refs(mill, before, after or "main")
    show_changes(mill, diff(mill.api, left.project, left.dataset, left.ref, right.ref), everything=everything)


def show_status(mill: Session, copy: WorkingCopy, *, rehash: bool, everything: bool) -> None:
    with Meter(mill.out, f"Looking at {copy.root.name}") as meter:
        found = compare(mill.api, copy, rehash=rehash, progress=tell(meter))
    warn_skipped(mill, found.skipped)
    head = found.head.id if found.head else ""
    show_changes(mill, _summary(head, found.tree, found.changes), everything=everything)
    if copy.moving_to:
        mill.out.warn(
            f"A checkout of {copy.dataset}@{copy.moving_to[:12]} was interrupted. Finish it: mill "
            f"data checkout {copy.moving_to[:12]}"
        )
    if not found.changes:
        mill.out.note(f"No changes: this folder matches {copy.dataset}@{copy.branch}.")
    if copy.head and found.head and found.head.id != copy.head:
        mill.out.warn(f"{found.head.author} committed to {copy.branch} since your last sync.")


def show_changes(mill: Session, found: Diff, *, everything: bool) -> None:
    """What differs, and how much that is."""
    if mill.out.as_json:
        mill.out.shape(found, [])
        return
    shown = found.items[:MOST_SHOWN] if mill.out.for_people and not everything else found.items
    for change in shown:
        if mill.out.for_people:
            mill.out.line(_line(change))
        else:
            mill.out.fields(_SIGNS[change.change], change.path, *([change.path_before] if change.path_before else []))
    if len(shown) < len(found.items):
        mill.out.note(f"… and {len(found.items) - len(shown):,} more; --all shows them")
    grown = found.added_bytes - found.removed_bytes
    mill.out.note(
        f"{found.added:,} added, {found.removed:,} removed, {found.changed:,} changed, {found.renamed:,} renamed; "
        f"{'+' if grown >= 0 else '-'}{format_bytes(abs(grown))}"
    )
    if not found.renames_complete:
        mill.out.note("Too many changes: some renames are shown as added and removed.")


def _line(change: Change) -> str:
    size = change.size_after if change.size_after is not None else change.size_before
    came_from = f"{change.path_before} > " if change.path_before else ""
    sign = " " if came_from else _SIGNS[change.change]
    return f"{sign} {one_line(came_from + change.path)}  ({format_bytes(size or 0)})"


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
