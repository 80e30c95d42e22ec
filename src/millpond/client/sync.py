"""From a folder to a commit: look, push what the project lacks, commit on top of what the folder last agreed with."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from millpond.client.commits import branch_head, create_commit
from millpond.client.http import Api
from millpond.client.retrying_sender import until_complete
from millpond.client.transfer import ApiDownloader, ApiUploader
from millpond.client.working_copy import WorkingCopy
from millpond.client.working_tree import SeenAndLake, completed, look, options_of
from millpond.errors import BadRequest, Conflict, RefMoved
from millpond.lake.diff import diff_trees
from millpond.lake.push import PushOptions, push_directory, seen_before
from millpond.lake.reader import TreeReader
from millpond.lake.scan import Skipped, Warn
from millpond.lake.transfer import Progress
from millpond.model.path import to_text
from millpond.model.tree import TreeChange
from millpond.wire.quick.data import Commit, CommitCreate


class Synced(NamedTuple):
    """`commit` is what the folder and the branch agree on now; `changed` is False when the branch held it already.

    `sent` is how many bytes went to the lake; `received` how many paths came from the branch. `skipped` are paths of
    the folder that no commit can hold, each with the reason.
    """

    commit: Commit
    changed: bool
    sent: int = 0
    received: int = 0
    skipped: Mapping[bytes, str] = MappingProxyType({})


class Status(NamedTuple):
    """How a folder differs from the newest commit of its branch; `tree` is the folder's, `skipped` as for Synced."""

    head: Commit | None
    tree: str
    changes: list[TreeChange]
    skipped: Mapping[bytes, str] = MappingProxyType({})


def sync(
    api: Api,
    copy: WorkingCopy,
    *,
    message: str = "",
    rehash: bool = False,
    onto_newest: bool = False,
    progress: Progress | None = None,
) -> Synced:
    """Make the branch hold what the folder holds. Running it again after any interruption simply goes on.

    BadRequest if nothing but skipped paths is there. RefMoved when somebody else committed since this folder last
    agreed with the branch; with `onto_newest` the two are brought together instead, or a MergeConflict says why they
    cannot be. A checkout or rebase that was interrupted here is finished first, or Conflict asks for that: half of it
    must not become a commit.
    """
    skipped = Skipped()
    done = _synced(
        api, copy, message=message, rehash=rehash, onto_newest=onto_newest, progress=progress, skipped=skipped
    )
    return done._replace(skipped=skipped)


def _synced(
    api: Api,
    copy: WorkingCopy,
    *,
    message: str,
    rehash: bool,
    onto_newest: bool,
    progress: Progress | None,
    skipped: Skipped,
) -> Synced:
    warn = skipped
    copy = arrived(api, copy, finish=onto_newest, progress=progress, warn=warn)
    head = branch_head(api, copy.project, copy.dataset, copy.branch)

    def together(theirs: Commit) -> Synced:
        from millpond.client.rebase import rebase  # noqa: PLC0415 - as in `arrived`

        done = rebase(api, copy, theirs, message=message, rehash=rehash, progress=progress, warn=warn)
        sent = done.sent.sent if done.sent else 0
        return Synced(done.commit, changed=done.sent is not None, sent=sent, received=done.received)

    has_moved = (head.id if head else None) != copy.head
    if head is not None and (onto_newest if has_moved else copy.only):
        return together(head)
    if has_moved:
        # Either somebody else committed, or we did and were killed before we could note it.
        if head is None or head.tree != look(copy, rehash=rehash, progress=progress, warn=warn).root:
            raise _moved(copy, head)
        copy.at(head.id).save()
        return Synced(head, changed=False)
    options = options_of(copy, rehash=rehash)
    if head is not None and head.tree == seen_before(copy.root, options, warn):
        return Synced(head, changed=False)
    try:
        return until_complete(lambda: _push(api, copy, head, message, options, progress, skipped))
    except RefMoved as error:  # while we were sending
        newest = branch_head(api, copy.project, copy.dataset, copy.branch)
        if newest is None or not onto_newest:
            raise _moved(copy, newest) from error
        return together(newest)


def arrived(
    api: Api,
    copy: WorkingCopy,
    *,
    finish: bool,
    progress: Progress | None = None,
    warn: Warn = lambda path, why: None,
) -> WorkingCopy:
    """The folder at one commit. Half way to another, it is brought there if `finish`, or Conflict asks for that."""
    if copy.moving_to is None:
        return copy
    if not finish:
        raise _between_commits(copy, copy.moving_to)
    # Few need it, and it brings half of all that downloads: everybody else would wait for that.
    from millpond.client.checkout import finish_moving  # noqa: PLC0415

    return finish_moving(api, copy, progress=progress, warn=warn)


def _push(
    api: Api,
    copy: WorkingCopy,
    head: Commit | None,
    message: str,
    options: PushOptions,
    progress: Progress | None,
    skipped: Skipped,
) -> Synced:
    with ApiUploader(api, copy.project, known_tree=head.tree if head else None) as uploader:
        pushed = push_directory(copy.root, uploader, options=options, progress=progress, warn=skipped)
        if skipped and not pushed.tree.files:
            raise _nothing_left(copy, skipped)
        if head is not None and head.tree == pushed.tree.root:
            return Synced(head, changed=False)
        request = CommitCreate(
            upload=uploader.id, tree=pushed.tree.root, branch=copy.branch, expected=copy.head, message=message
        )
        commit = create_commit(api, copy.project, copy.dataset, request)
    copy.at(commit.id).save()
    return Synced(commit, changed=True, sent=pushed.moved.sent)


def compare(api: Api, copy: WorkingCopy, *, rehash: bool = False, progress: Progress | None = None) -> Status:
    """How the folder differs from the newest commit of its branch; nothing is sent."""
    skipped = Skipped()
    head = branch_head(api, copy.project, copy.dataset, copy.branch)
    seen = look(copy, rehash=rehash, progress=progress, warn=skipped)
    if head is None:
        entries = TreeReader(seen, seen.root).entries()
        return Status(None, seen.root, [TreeChange(entry.path, None, entry) for entry in entries], skipped)
    with ApiDownloader(api, copy.project, copy.dataset, head.id) as lake:
        seen = completed(seen, copy, head.tree, lake)
        return Status(head, seen.root, list(diff_trees(SeenAndLake(seen, lake), head.tree, seen.root)), skipped)


def _nothing_left(copy: WorkingCopy, skipped: Skipped) -> BadRequest:
    path, why = min(skipped.items())
    more = f" and {len(skipped) - 1:,} more" if len(skipped) > 1 else ""
    return BadRequest(
        f"{copy.root} has no file that a commit can hold; skipped {to_text(path)} ({why}){more}.",
        hint="Add regular files and sync again. To empty the dataset: mill data rm -r",
    )


def _between_commits(copy: WorkingCopy, moving_to: str) -> Conflict:
    return Conflict(
        f"A checkout of {copy.dataset}@{moving_to[:12]} was interrupted in this folder.",
        hint=f"Finish it first: mill data checkout {moving_to[:12]}",
    )


def _moved(copy: WorkingCopy, head: Commit | None) -> RefMoved:
    if head is None:
        return RefMoved(
            f"Branch {copy.branch} of {copy.written}, which this folder follows, no longer exists.",
            hint="Sync to another branch: mill data sync --branch NAME",
        )
    return RefMoved(
        f"{head.author} committed to {copy.written}@{copy.branch} since your last sync.",
        hint=(
            "Combine the changes: mill data sync --rebase. See theirs: mill data diff "
            f"{copy.dataset}@{(copy.head or head.id)[:12]} {copy.branch}. Keep both: mill data sync "
            "--branch NAME"
        ),
        head=head.id,
    )
