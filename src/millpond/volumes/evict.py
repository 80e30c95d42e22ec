"""Taking cached commits off a volume: renamed aside first, so no reader ever opens a half-removed tree."""

from __future__ import annotations

import errno
import time
from contextlib import suppress
from pathlib import Path

from millpond.volumes.attempt import FillAttempt
from millpond.volumes.volume import CacheVolume, appears, explained, recognise, sync_directory

# So often and so long is waited until nothing changes any more, because no system tells when it has given back what was
# removed. Not longer: others may write there without end.
_SETTLING, _SETTLE_SECONDS = 10, 0.02


def evict(attempt: FillAttempt) -> bool:
    """Unpublish the commit and free its bytes. Evicting what is not there is success; so is doing it twice.

    When it returns the commit is no longer published, even after a power cut. False: some bytes cannot be removed yet
    (a file somebody has open on NFS); they lie in the trash, to be tried again. VolumeProblem when the volume refuses,
    or is not there any more.
    """
    with explained(attempt.volume):
        published = attempt.volume.commit(attempt.place)
        _rename_aside(published, attempt.tree)
        for directory in (published.parent, attempt.path):
            with suppress(FileNotFoundError):
                sync_directory(directory)
        # Its dataset's directory goes with the last commit. What is not empty stays, and an empty one harms nobody; the
        # project's is never removed: it is the door that keeps others out (volumes/groups.py).
        with suppress(OSError):
            published.parent.rmdir()
        is_gone = attempt.remove()
        _wait_for_room(attempt.volume)
        # Below the mount point of a volume that was unmounted meanwhile nothing is published either.
        recognise(attempt.volume)
        return is_gone


def _wait_for_room(volume: CacheVolume) -> None:
    """XFS gives back what was removed a moment after it was first asked for: who looks next finds it free."""
    before = volume.space()
    for _ in range(_SETTLING):
        time.sleep(_SETTLE_SECONDS)
        if (now := volume.space()) == before:
            return
        before = now


def _rename_aside(published: Path, aside: Path) -> None:
    try:
        published.rename(aside)
    except OSError as error:
        # Gone already; or, on NFS, a rename that succeeded and is answered by what its repetition met. If the tree is
        # still there, this attempt was overtaken by another, which has moved its directory away.
        if error.errno not in (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY) or appears(published, within=0):
            raise
