"""Filling: one attempt makes a commit's tree in a directory of its own, makes it durable and publishes it whole."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from millpond.errors import DiskFull, Forbidden, MillError, StoreUnavailable, VolumeProblem
from millpond.lake.crew import processes_for
from millpond.lake.fetch import FetchOptions, fetch_tree
from millpond.lake.lru import Kept
from millpond.lake.nursery import Nursery
from millpond.lake.pages import Page
from millpond.lake.reader import room_for_pages
from millpond.lake.throttle import UNLIMITED, Throttle
from millpond.lake.transfer import Downloader, Moved, Progress
from millpond.model.fill_source import Given, SourceKey, SourceKind, of_kind
from millpond.volumes.attempt import FillAttempt
from millpond.volumes.bases import BaseTree
from millpond.volumes.disk_space import NoRoomYet
from millpond.volumes.kept_pages import KeptSource
from millpond.volumes.local import LocalFiles, MadeHere, MoreFiles, chained, nothing_made
from millpond.volumes.source_tally import SourceTally
from millpond.volumes.volume import CacheVolume, appears, check, explained, make_passable, sync_directory


class FillCancelled(MillError):
    """The fill is no longer wanted."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What each source gave to it; nothing for a commit that was published already."""

    given: Mapping[SourceKey, Given] = field(default_factory=dict)

    def gave(self, *kinds: SourceKind) -> Given:
        return of_kind(self.given, kinds)


def fill(
    attempt: FillAttempt,
    tree: str,
    source: Downloader,
    *,
    bases: Sequence[BaseTree] = (),
    made_here: MadeHere = nothing_made,
    peer: MoreFiles | None = None,
    tally: SourceTally | None = None,
    progress: Progress | None = None,
    kept: Kept[str, Page] | None = None,
    nursery: Nursery | None = None,
    throttle: Throttle = UNLIMITED,
) -> Filled:
    """Make the tree in the attempt's directory, every byte checked, and publish it.

    `bases` are commits of the same project published on the volume, and perhaps this one on another: unchanged files
    are taken from there, from what earlier attempts have left, and from what jobs have `made_here`. What is not there
    may come from a `peer` before the lake is asked. `progress` may raise FillCancelled or NoRoomYet to end it.
    `tally` is told what each source gives, as it comes; a `peer` tells it itself.
    `kept` are pages that were read before, for this commit or another; processes come from the `nursery`.
    What is read from packs passes the `throttle`; sources and bases keep to limits themselves.
    Filling what is published already does nothing. Raises VolumeProblem and DiskFull for what the volume refuses,
    StoreUnavailable while the lake is away, Corrupt for bytes that are not what the tree names. Of the attempt nothing
    is left, unless only the lake was away: then the next one goes on from there.
    """
    try:
        check(attempt.volume)
        with explained(attempt.volume):
            known = KeptSource(source, room_for_pages() if kept is None else kept)
            tally = tally or SourceTally()
            local = partial(LocalFiles, known, tree, bases, attempt.older, nursery, made_here=made_here, tally=tally)
            filled = _make(attempt, tree, known, local, peer, _Told(tally, known, progress), nursery, throttle)
    except StoreUnavailable:
        raise
    except BaseException:
        # After a full disk above all: what is there of the tree must not stand in its own way.
        attempt.remove()
        raise
    attempt.remove()
    return filled


def publish(attempt: FillAttempt) -> None:
    """Make the attempt's tree durable, then visible, by one rename. Publishing what is published is success."""
    with explained(attempt.volume):
        target = attempt.volume.commit(attempt.place)
        sync_file_system(attempt.tree)
        make_passable(target.parent)
        while not _is_renamed(attempt.tree, target):
            make_passable(target.parent)
        for directory in (target.parent, target.parent.parent, attempt.volume.commits):
            sync_directory(directory)


def _is_renamed(tree: Path, target: Path) -> bool:
    """False when the directory above has just gone, with the last other commit of its dataset: make it again."""
    try:
        tree.rename(target)
    except OSError as error:
        if error.errno == errno.ENOENT and tree.is_dir() and not target.parent.is_dir():
            return False
        # On NFS a rename that succeeded may be answered by what its repetition met: what counts is whether the
        # tree is there. It is also there if this attempt was overtaken, and then it is another's, and whole.
        if error.errno not in (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY) or not appears(target):
            raise
    return True


def sync_file_system(path: Path) -> None:
    """Everything written to the file system of `path` so far survives a power cut: one call for a whole tree."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if _libc.syncfs(descriptor) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(descriptor)


class _Told:
    """Tells the tally what has come from the lake, and then whoever watches."""

    def __init__(self, tally: SourceTally, source: KeptSource, progress: Progress | None) -> None:
        self.tally = tally
        self._source = source
        self._progress = progress

    def note(self, moved: Moved) -> None:
        self.tally.note_fetched(moved, self._source.given())

    def __call__(self, moved: Moved, /) -> None:
        self.note(moved)
        if self._progress is not None:
            self._progress(moved)


def _make(
    attempt: FillAttempt,
    tree: str,
    source: KeptSource,
    open_local: Callable[[], LocalFiles],
    peer: MoreFiles | None,
    told: _Told,
    nursery: Nursery | None,
    throttle: Throttle,
) -> Filled:
    if attempt.volume.commit(attempt.place).is_dir():
        return Filled()
    try:
        with open_local() as local:
            processes = None if local.most_left is None else processes_for(local.most_left)
            taken = chained([one for one in (None if local.is_empty else local, peer) if one is not None])
            how = FetchOptions(processes=processes, nursery=nursery, throttle=throttle, came=told.tally.came)
            options = replace(how, read_only=True, local=taken)
            fetched = fetch_tree(source, tree, attempt.tree, options=options, progress=told)
    except (ConnectionError, TimeoutError) as error:
        raise StoreUnavailable(f"The lake does not respond: {error}.") from error
    except StoreUnavailable as error:
        raise StoreUnavailable(f"The lake does not respond: {error.message}", hint=error.hint) from error
    except NoRoomYet:
        raise  # told by whoever watches the room
    except DiskFull as error:
        said = f"{_what_ran_out(attempt.volume)} {error.message}"
        raise DiskFull(
            said, hint="Free space there, or clear cached commits. The fill then continues by itself."
        ) from error
    except Forbidden as error:
        # What may not be written now may be later, when somebody has put it right.
        raise VolumeProblem(error.message, hint=error.hint) from error
    publish(attempt)
    told.note(fetched.moved)
    return Filled(told.tally.given())


def _what_ran_out(volume: CacheVolume) -> str:
    """One error stands for both: what the file system has left tells which it was."""
    if volume.space().free_inodes == 0:
        return f"The volume at {volume.root} ran out of inodes: its file system cannot hold more files."
    return f"The disk of the volume at {volume.root} is full."


_libc = ctypes.CDLL(None, use_errno=True)
