"""Bringing a folder and its branch together when both have changed: path by path, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

from millpond.client.commits import branch_head, create_commit
from millpond.client.http import Api
from millpond.client.retrying_sender import until_complete
from millpond.client.transfer import ApiDownloader, ApiUploader
from millpond.client.working_copy import WorkingCopy
from millpond.client.working_tree import SeenAndLake, base_of, completed, look
from millpond.errors import MergeConflict, NotFound, RefMoved
from millpond.lake.branch_retry import on_newest
from millpond.lake.choice import chooser
from millpond.lake.merge import Merged, PathConflict, merge_trees
from millpond.lake.push_edit import push_edit
from millpond.lake.scan import Warn
from millpond.lake.transfer import Moved, Progress
from millpond.lake.update import moment_in, preparing_update
from millpond.model.path import to_text
from millpond.wire.quick.data import Commit, CommitCreate

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Rebased:
    """`commit` is what folder and branch agree on now; `sent` is None when the folder had nothing new for the branch.

    `received` counts the paths that came from the branch.
    """

    commit: Commit
    sent: Moved | None
    received: int


def rebase(
    api: Api,
    copy: WorkingCopy,
    theirs: Commit,
    *,
    message: str = "",
    rehash: bool = False,
    progress: Progress | None = None,
    warn: Warn = lambda path, why: None,
) -> Rebased:
    """Commit what the folder changed on top of `theirs`, the branch's newest commit, and bring its changes here.

    What both have changed since the folder last agreed with the branch is a MergeConflict that names it: then nothing
    has changed anywhere. Killed at any moment, running it again goes on.
    """
    newest = theirs

    def attempt() -> Rebased:
        nonlocal newest
        try:
            return _rebase(api, copy, newest, message, rehash, progress, warn)
        except RefMoved as error:
            newer = branch_head(api, copy.project, copy.dataset, copy.branch)
            if newer is None:
                raise NotFound(f"Branch {copy.branch} of {copy.written} no longer exists.") from error
            newest = newer
            raise

    return on_newest(attempt)


def _rebase(
    api: Api, copy: WorkingCopy, theirs: Commit, message: str, rehash: bool, progress: Progress | None, warn: Warn
) -> Rebased:
    base = base_of(api, copy)
    moment = moment_in(copy.root)
    seen = look(copy, rehash=rehash, progress=progress, warn=warn)
    with ApiDownloader(api, copy.project, copy.dataset, theirs.id) as lake:
        seen = completed(seen, copy, base, lake) if base else seen
        pages = SeenAndLake(seen, lake)
        ours_on_theirs = merge_trees(pages, base, seen.root, theirs.tree)
        if ours_on_theirs.conflicts:
            raise _conflict(copy, ours_on_theirs.conflicts)
        chosen = chooser(copy.only)
        arriving = [
            change for change in merge_trees(pages, base, theirs.tree, seen.root).changes if chosen(change.path)
        ]
        # All that can fail is done before the commit, so that a refusal leaves everything as it is.
        with preparing_update(copy.root, lake, theirs.tree, arriving, seen=moment, progress=progress) as update:
            commit, sent = theirs, None
            if ours_on_theirs.changes:
                commit, sent = until_complete(
                    lambda: _commit(api, copy, pages, theirs, ours_on_theirs, message, progress)
                )
            copy.note_fetched(update.external)
            copy.moving(commit.id)
            update.apply()
    copy.arrived(commit.id)
    return Rebased(commit, sent, len(arriving))


def _commit(
    api: Api,
    copy: WorkingCopy,
    pages: SeenAndLake,
    theirs: Commit,
    merged: Merged,
    message: str,
    progress: Progress | None,
) -> tuple[Commit, Moved]:
    with ApiUploader(api, copy.project) as uploader:
        pushed = push_edit(
            copy.root, uploader, pages, theirs.tree, puts=merged.puts, removals=merged.removals, progress=progress
        )
        request = CommitCreate(
            upload=uploader.id, tree=pushed.tree.root, branch=copy.branch, expected=theirs.id, message=message
        )
        return create_commit(api, copy.project, copy.dataset, request), pushed.moved


def _taking(where: str, conflicts: list[PathConflict]) -> str:
    """How the paths in question become what they hold: what is gone there cannot be fetched."""
    gone = [conflict.theirs.after is None for conflict in conflicts]
    fetching = f"mill data cat {where}:PATH > PATH"
    if not any(gone):
        return fetching
    removing = "remove them here" if all(gone) else "remove here what they removed"
    return removing if all(gone) else f"{fetching}; {removing}"


def _conflict(copy: WorkingCopy, conflicts: list[PathConflict]) -> MergeConflict:
    named = "; ".join(conflict.describe("you", "they") for conflict in conflicts[:_NAMED])
    more = f"; and {len(conflicts) - _NAMED:,} more" if len(conflicts) > _NAMED else ""
    where = f"{copy.dataset}@{copy.branch}"
    return MergeConflict(
        f"This folder and {where} changed the same paths differently. {named}{more}. Nothing was changed.",
        hint=(
            "Keep both: mill data sync --branch NAME. Or take theirs for these paths "
            f"({_taking(where, conflicts)}), run mill data sync --rebase, and make your change again."
        ),
        paths=[to_text(conflict.path) for conflict in conflicts],
        conflicts=[conflict.describe("ours", "theirs") for conflict in conflicts],
    )
