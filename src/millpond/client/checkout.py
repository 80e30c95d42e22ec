"""Moving a working copy to another commit in place: only what differs is fetched, and no local change is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millpond.client.clone import branch_of
from millpond.client.commits import find_commit
from millpond.client.http import Api
from millpond.client.transfer import ApiDownloader
from millpond.client.working_copy import WorkingCopy
from millpond.client.working_tree import SeenAndLake, base_of, completed, look
from millpond.errors import Conflict
from millpond.lake.choice import chooser
from millpond.lake.diff import diff_trees
from millpond.lake.merge import PathConflict, merge_trees
from millpond.lake.scan import Warn
from millpond.lake.transfer import Progress
from millpond.lake.update import moment_in, preparing_update
from millpond.model.path import to_text
from millpond.model.tree import TreeChange
from millpond.wire.quick.data import Commit

_NAMED = 5


@dataclass(frozen=True, slots=True)
class CheckedOut:
    """`changes` are those made to the folder."""

    commit: Commit
    copy: WorkingCopy
    changes: Sequence[TreeChange]


def checkout(
    api: Api,
    copy: WorkingCopy,
    ref: str,
    *,
    force: bool = False,
    progress: Progress | None = None,
    warn: Warn = lambda path, why: None,
) -> CheckedOut:
    """Make the folder hold `ref`; a branch is what `sync` goes on with from now on.

    Local changes are kept where the two commits do not differ; where they do, Conflict names them and nothing has
    changed. With `force` the folder holds exactly the commit afterwards, and local changes are lost.
    """
    target = find_commit(api, copy.project, copy.dataset, ref)
    if copy.moving_to not in (None, target.id) and not force:
        copy = finish_moving(api, copy, progress=progress, warn=warn)
    base = _known_base(api, copy) if force else base_of(api, copy)
    moment = moment_in(copy.root)
    seen = look(copy, progress=progress, warn=warn)
    with ApiDownloader(api, copy.project, copy.dataset, target.id) as lake:
        seen = completed(seen, copy, base, lake) if base else seen
        pages = SeenAndLake(seen, lake)
        if force:
            changes = list(diff_trees(pages, seen.root, target.tree))
        else:
            merged = merge_trees(pages, base, target.tree, seen.root)
            if merged.conflicts:
                raise _would_be_lost(ref, merged.conflicts)
            changes = merged.changes
        chosen = chooser(copy.only)
        changes = [change for change in changes if chosen(change.path)]
        with preparing_update(
            copy.root, lake, target.tree, changes, seen=moment, overwrite=force, progress=progress
        ) as update:
            copy.note_fetched(update.external)
            copy.moving(target.id)
            update.apply()
    moved = copy.arrived(target.id, branch_of(api, copy.project, copy.dataset, ref))
    return CheckedOut(target, moved, changes)


def finish_moving(
    api: Api, copy: WorkingCopy, *, progress: Progress | None = None, warn: Warn = lambda path, why: None
) -> WorkingCopy:
    """The folder at the commit that was being brought to it when that was interrupted.

    Until then nobody can tell what the user changed from what had come. Errors as of `checkout`.
    """
    if copy.moving_to is None:
        return copy
    return checkout(api, copy, copy.moving_to, progress=progress, warn=warn).copy


def _known_base(api: Api, copy: WorkingCopy) -> str | None:
    """For those who give their changes up: a folder whose commit is gone is simply another tree."""
    try:
        return base_of(api, copy)
    except Conflict:
        return None


def _would_be_lost(ref: str, conflicts: Sequence[PathConflict]) -> Conflict:
    """The folder is the side called theirs here: the other commit's changes were to be applied to it."""
    lost = {conflict.theirs.path: conflict.theirs.change for conflict in conflicts}
    named = ", ".join(f"{to_text(path)!r} ({change})" for path, change in list(lost.items())[:_NAMED])
    more = f" and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
    return Conflict(
        f"Uncommitted changes conflict with {ref}: {named}{more}. Nothing was changed.",
        hint="Commit them first: mill data sync. Or discard them: --force",
        paths=[to_text(path) for path in lost],
    )
