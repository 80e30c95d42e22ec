"""The commands of `mill data` that change histories: branch, tag, merge, revert."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from millpond.cli.command import command
from millpond.cli.dataset_argument import Named, named
from millpond.cli.progress import Meter, going_on, tell
from millpond.cli.session import Session
from millpond.cli.values import CommitId
from millpond.client.branches import create_ref, delete_ref, merge, revert
from millpond.client.checkout import checkout
from millpond.client.commits import find_dataset
from millpond.client.datasets import list_refs
from millpond.client.working_copy import find_working_copy
from millpond.errors import BadRequest, Conflict, MergeConflict
from millpond.model.dataset import RefType
from millpond.model.names import DEFAULT_BRANCH
from millpond.model.quantity import format_count, format_tree
from millpond.wire.data import Commit

At = Annotated[str | None, typer.Option("--at", metavar="REF", help="Commit to start at (default: the newest).")]
New = Annotated[
    str | None, typer.Argument(metavar="[NEW]", help="Create NEW at the ref that is named first: x-ray@main v1.")
]
Delete = Annotated[bool, typer.Option("--delete", "-d", help="Delete it. Its commits stay.")]
Message = Annotated[str, typer.Option("--message", "-m", help="Commit message.")]


def add_history_commands(app: typer.Typer) -> None:
    command(app, "branch")(branch)
    command(app, "tag")(tag)
    command(app, "merge")(merge_branches)
    command(app, "revert")(revert_commit)


def branch(
    mill: Session,
    name: Annotated[
        str | None, typer.Argument(metavar="[DATASET@]NAME", help="Branch to create. Without it, list branches.")
    ] = None,
    new: New = None,
    at: At = None,
    delete: Delete = False,
) -> None:
    """Create, delete or list branches.

    Example: mill data branch cleanup --at v1
    """
    _make(mill, name, new, RefType.BRANCH, at, delete)


def tag(
    mill: Session,
    name: Annotated[
        str | None, typer.Argument(metavar="[DATASET@]NAME", help="Tag to create. Without it, list tags.")
    ] = None,
    new: New = None,
    at: At = None,
    delete: Delete = False,
) -> None:
    """Create, delete or list tags: names that always point to the same commit.

    Example: mill data tag v1
    """
    _make(mill, name, new, RefType.TAG, at, delete)


def merge_branches(
    mill: Session,
    source: Annotated[str, typer.Argument(metavar="[DATASET@]SOURCE", help="Branch, tag or commit to merge.")],
    into: Annotated[
        str | None, typer.Option("--into", metavar="BRANCH", help="Target branch (default: this folder's, or main).")
    ] = None,
    message: Message = "",
) -> None:
    """Merge a branch, tag or commit into a branch.

    If both sides changed a path differently, the conflicts are listed and nothing changes.
    In a folder on the target branch, the folder is updated, too; changes you have not committed stay.

    Example: mill data merge x-ray@cleanup --into main
    """
    ref, own = _ref_of(mill, source)
    target = into or own
    try:
        commit = merge(mill.api, ref.project, ref.dataset, ref.ref, target, message=message)
    except MergeConflict as error:
        _tell_conflicts(mill, error)
        raise
    _tell(mill, ref.dataset, target, commit)
    _update_folder(mill, ref, target)


def revert_commit(
    mill: Session,
    commit: Annotated[str, typer.Argument(metavar="[DATASET@]COMMIT", help="Commit to undo.")],
    branch: Annotated[
        str | None, typer.Option("--branch", "-b", help="Target branch (default: this folder's, or main).")
    ] = None,
    message: Message = "",
) -> None:
    """Undo the changes of a commit in a new commit. Later changes stay.

    In a folder on the target branch, the folder is updated, too; changes you have not committed stay.

    Example: mill data revert x-ray@3fa2c1d0
    """
    ref, own = _ref_of(mill, commit)
    target = branch or own
    try:
        made = revert(mill.api, ref.project, ref.dataset, ref.ref, target, message=message)
    except MergeConflict as error:
        _tell_conflicts(mill, error)
        raise
    _tell(mill, ref.dataset, target, made)
    _update_folder(mill, ref, target)


def _make(mill: Session, name: str | None, new: str | None, type: RefType, at: str | None, delete: bool) -> None:
    if name is None:
        _list(mill, type, at, delete)
        return
    if new is not None:
        if at or delete:
            raise BadRequest(f"Give either two names, or one with {'--at' if at else '--delete'}.")
        here = find_working_copy(Path.cwd()) is not None and "@" not in name
        start = named(mill, f"@{name}" if here else name)
        ref, at, own = start._replace(ref=new), start.ref, start.ref
    else:
        ref, own = _ref_of(mill, name)
    if delete:
        delete_ref(mill.api, ref.project, ref.dataset, ref.ref)
        mill.out.note(f"{type.value.capitalize()} {ref} deleted. Its commits stay.")
        return
    made = create_ref(mill.api, ref.project, ref.dataset, ref.ref, type=type, at=at or own)
    mill.out.note(f"{type.value.capitalize()} {ref} is at {made.commit_id[:12]}.")
    if mill.out.as_json:
        mill.out.shape(made, [])


def _list(mill: Session, type: RefType, at: str | None, delete: bool) -> None:
    if at or delete:
        raise BadRequest(f"No {type.value} given.")
    here = named(mill, None)
    mill.out.items(
        [ref for ref in list_refs(mill.api, here.project, here.dataset) if ref.type is type],
        [
            (type.value.upper(), lambda ref: ref.name),
            ("COMMIT", lambda ref: CommitId(ref.commit_id)),
            ("MOVED", lambda ref: ref.moved_at),
        ],
        empty=f"{here.dataset} has no {type.value} yet. Create one: mill data {type.value} NAME",
    )


def _ref_of(mill: Session, written: str) -> tuple[Named, str]:
    """What `DATASET@REF`, or a mere ref of this folder's dataset, names; and the branch one is on there."""
    if "@" in written:
        ref = named(mill, written)
        own = named(mill, None).ref if written.startswith("@") else DEFAULT_BRANCH
        return ref, own
    return named(mill, f"@{written}"), named(mill, None).ref


def _tell(mill: Session, dataset: str, branch: str, commit: Commit) -> None:
    size = format_tree(commit.files, commit.bytes)
    mill.out.note(f"{dataset}@{branch} is at {commit.id[:12]} now: {size}.")
    if mill.out.as_json:
        mill.out.shape(commit, [])


def _update_folder(mill: Session, ref: Named, branch: str) -> None:
    """Bring the working copy around us along, if it is on the branch that has just moved."""
    copy = find_working_copy(Path.cwd())
    if copy is None or (copy.project, copy.dataset, copy.branch) != (ref.project, ref.dataset, branch):
        return
    if find_dataset(mill.api, ref.project, ref.dataset).id != copy.dataset_id:
        return  # of that name on another server
    try:
        with Meter(mill.out, "Updating this folder") as meter, going_on():
            changes = checkout(mill.api, copy, branch, progress=tell(meter)).changes
    except Conflict as error:
        mill.out.warn(
            f"This folder was not updated, because it has changes of its own: {error.message} "
            f"Commit them on top with `mill data sync --rebase`, or discard them with "
            f"`mill data checkout {branch} --force`."
        )
        return
    mill.out.note(f"Updated this folder: {format_count(len(changes), 'path')} changed.")


def _tell_conflicts(mill: Session, error: MergeConflict) -> None:
    for conflict in error.details.get("conflicts", ()):
        mill.out.note(f"conflict: {conflict}")
