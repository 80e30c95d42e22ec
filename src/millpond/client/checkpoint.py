"""`millpond.checkpoint()`: save what a job wrote to $MILL_CHECKPOINT; its next attempt goes on from there."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from millpond.client.http import Api
from millpond.client.job_commits import JobBranch, commit_directory
from millpond.errors import MillError
from millpond.model.names import CHECKPOINT_DATASET

DIRECTORY = "MILL_CHECKPOINT"
# How the message of a commit ends that the job itself made.
SAVED_BY_JOB = "by millpond.checkpoint()"

# Between tries while the server or its store is away.
_AGAIN_SECONDS = 2.0
# Two at once would read the same directory.
_lock = threading.Lock()


def checkpoint(*, patience: float = 60.0) -> bool:
    """Commit $MILL_CHECKPOINT to the lake. True once it is safe there, whatever happens to this machine.

    Write the files first, then call this; do not change them until it returns. What has not changed since the last call
    is neither read nor sent again. While the server is away this tries for `patience` seconds, then says so on stderr
    and returns False: the checkpoint before stays valid, and the next call saves everything.
    Of a distributed job, only rank 0 saves: call it there when all ranks have written, the others get False at once.
    Outside a job there is nothing to save, and the answer is False.
    """
    directory = os.environ.get(DIRECTORY)
    if not directory or int(os.environ.get("MILL_RANK", "0")):
        return False
    deadline = time.monotonic() + patience
    with _lock:
        while True:
            try:
                _save(Path(directory))
                return True
            except MillError as error:
                left = deadline - time.monotonic()
                if not error.transient or left <= 0:
                    sys.stderr.write(f"millpond: checkpoint not saved: {error.message}\n")
                    return False
                time.sleep(min(_AGAIN_SECONDS, left))


def checkpoint_branch(project: str, job: str) -> JobBranch:
    return JobBranch(project, CHECKPOINT_DATASET, job)


def _save(directory: Path) -> None:
    job, placement = os.environ["MILL_JOB_ID"], os.environ["MILL_PLACEMENT"]
    branch = checkpoint_branch(os.environ["MILL_PROJECT"], job)
    # Beside the directory, never in it: it must not be part of the checkpoint.
    stat_cache = Path(tempfile.gettempdir(), f"mill-checkpoint-{placement}")
    with Api(os.environ["MILL_SERVER"], os.environ["MILL_TOKEN"], patience=5.0) as api:
        message = f"Checkpoint of job {job}, saved {SAVED_BY_JOB}"
        commit_directory(api, branch, directory, message=message, stat_cache=stat_cache)
