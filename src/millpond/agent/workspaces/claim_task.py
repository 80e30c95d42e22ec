"""What is done with the files of a workspace that is a claim, by a program in a pod: `python -m … DIRECTORY`.

It reads `task.json` of the directory, tells how far it is in `progress.json`, and writes `result.json` at its end.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from millpond.agent.lake import fetch_source, keep_snapshot
from millpond.errors import MillError
from millpond.lake.nursery import Nursery
from millpond.volumes.fill import sync_file_system
from millpond.volumes.workspaces.tree_crew import work_on_tree
from millpond.volumes.workspaces.tree_process import Done, Task
from millpond.wire.workspaces import DesiredSnapshot, DesiredSource, DesiredWorkspace

TASK, PROGRESS, RESULT = "task.json", "progress.json", "result.json"
# The claim that is worked on, and the one that is copied.
CLAIM, ORIGIN = "/claim", "/origin"
TREE = "tree"
_TELL_SECONDS = 0.5


class ClaimTask(BaseModel):
    """`make` the tree: empty, or from a source. `keep` it in the lake. `measure` it."""

    do: Literal["make", "keep", "measure"]
    server: str = ""
    desired: DesiredWorkspace | None = None
    # For `make`: a directory to copy, whether that is a cached commit, or a commit to fetch. `cloned`: it is there.
    copy_from: str | None = None
    from_commit: bool = False
    fetch: DesiredSource | None = None
    cloned: bool = False
    # For `keep`, with the file that remembers what was sent before.
    snapshot: DesiredSnapshot | None = None
    stat_cache: str = ""


class ClaimResult(BaseModel):
    """What has come of it; `problem`: nothing."""

    files: int = 0
    # What its files add up to, and what is allocated for them.
    bytes: int = 0
    allocated_bytes: int = 0
    commit: str | None = None
    torn: bool = False
    problem: str | None = None
    hint: str | None = None
    # The same may succeed later.
    transient: bool = False
    # It was to begin as another claim, and did not.
    not_cloned: bool = False


def main() -> None:
    directory = Path(sys.argv[1])
    # What it makes is for its own user and group, as an agent's is.
    os.umask(0o022)
    try:
        result = carry_out(ClaimTask.model_validate_json((directory / TASK).read_bytes()), directory)
    except MillError as error:
        result = ClaimResult(problem=error.message, hint=error.hint, transient=error.transient)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        words = "The claim of the workspace is full." if full else f"{error.strerror or error}: {error.filename or ''}"
        result = ClaimResult(problem=words, hint="Ask for a larger --size." if full else None)
    write(directory / RESULT, result.model_dump())


def carry_out(task: ClaimTask, directory: Path, claim: Path = Path(CLAIM)) -> ClaimResult:
    """Do it; `directory` hears of progress. Raises MillError or OSError. May be done again after any interruption."""
    tree, told = claim / TREE, _Telling(directory / PROGRESS)
    torn = False
    commit = None
    with closing(Nursery()) as nursery:
        if task.do == "make":
            if task.cloned and not tree.is_dir():
                return ClaimResult(not_cloned=True)
            if not task.cloned:
                torn = _make(task, tree, told, nursery)
            sync_file_system(claim)
        elif task.do == "keep":
            assert task.desired is not None and task.snapshot is not None
            # What the cluster froze has the inodes of the claim: files need no record of what they were there.
            commit = keep_snapshot(
                task.server, task.desired, task.snapshot, tree, Path(task.stat_cache), directory / "no-record"
            )
        found = work_on_tree(tree, None, Task("measure"), nursery)
    return ClaimResult(
        files=found.files, bytes=found.size, allocated_bytes=found.unique + found.shared, commit=commit, torn=torn
    )


def _make(task: ClaimTask, tree: Path, told: _Telling, nursery: Nursery) -> bool:
    """Whether files changed while they were copied."""
    if tree.exists():
        shutil.rmtree(tree)
    tree.mkdir(mode=0o755)
    if task.copy_from is not None:
        commit = task.from_commit
        how = Task("copy", plain_modes=commit, whole=not commit)
        done = work_on_tree(Path(task.copy_from), tree, how, nursery, progress=told, keep_links=not commit)
        return done.torn > 0
    if task.fetch is not None:
        assert task.desired is not None
        fetch_source(task.server, task.desired, task.fetch, tree)
        tree.chmod(0o755)
    return False


class _Telling:
    """Writes now and then how much was done."""

    def __init__(self, file: Path) -> None:
        self._file, self._next = file, 0.0

    def __call__(self, done: Done) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _TELL_SECONDS
            write(self._file, {"files": done.files, "bytes": done.size})


def write(path: Path, found: dict[str, Any]) -> None:
    part = path.with_suffix(".part")
    part.touch(0o600)
    part.write_text(json.dumps(found))
    part.replace(path)


if __name__ == "__main__":
    main()
