"""Keeping jobs from writing to a tree while it is copied, by the freezer of their control groups; two seconds at most.

A process of its own lets them go on when the time is over, whatever becomes of the agent meanwhile.
"""

from __future__ import annotations

import logging
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from millpond.agent.isolation import cgroups, groups_of
from millpond.agent.spec import rank_directories, read_spec
from millpond.volumes.workspaces.stillness import Stillness

log = logging.getLogger(__name__)

FREEZE_SECONDS = 2.0
# How long the kernel may take until nothing runs any more.
_SETTLE_SECONDS = 0.5
_LOOK_SECONDS = 0.002


@contextmanager
def frozen(placements: Path, tree: Path, *, in_use: bool) -> Iterator[Stillness]:
    """Freeze the jobs that have `tree`, for the block. `in_use`: some job has it, perhaps on another machine."""
    users = users_of(placements, tree)
    running = [groups for groups in users if not groups or cgroups.processes(groups)]
    if not in_use and not running:
        yield Stillness("atomic")
        return
    files = [file for groups in running for file in _freezers(groups)]
    if not running or len(files) < len(running):
        yield Stillness("per-file")  # they run elsewhere, or in groups that cannot be frozen
        return
    with _freeze(files) as still:
        yield still


def users_of(placements: Path, tree: Path) -> list[tuple[str, ...]]:
    """The control groups of every process of a placement that has the tree to write to."""
    found: list[tuple[str, ...]] = []
    with suppress(FileNotFoundError):
        for directory in placements.iterdir():
            spec = read_spec(directory)
            if spec is not None and any(Path(one.source) == tree and one.writable for one in spec.mounts):
                keepers = rank_directories(directory) or [directory]
                found += [groups_of(keeper) for keeper in keepers]
    return found


def mounted_by(placements: Path) -> set[Path]:
    """What placements of this agent have mounted."""
    with suppress(FileNotFoundError):
        specs = [read_spec(directory) for directory in placements.iterdir()]
        return {Path(one.source) for spec in specs if spec is not None for one in spec.mounts}
    return set()


def thaw_all(placements: Path) -> None:
    """Let everything go on that an agent which was killed may have frozen."""
    with suppress(FileNotFoundError):
        for directory in placements.iterdir():
            for keeper in (directory, *rank_directories(directory)):
                for file in _freezers(groups_of(keeper)):
                    _write(file, frozen=False)


@contextmanager
def _freeze(files: Sequence[Path]) -> Iterator[Stillness]:
    still = Stillness("per-file")
    began = time.monotonic()
    guard = subprocess.Popen(["/bin/sh", "-c", _guard(files)], start_new_session=True)
    try:
        left = [file for file in files if not _write(file, frozen=True)]
        is_frozen = not left and _settled(files)
        yield still
        if is_frozen and time.monotonic() - began < FREEZE_SECONDS and guard.poll() is None:
            still.consistency = "frozen"
    finally:
        for file in files:
            _write(file, frozen=False)
        guard.kill()
        guard.wait()


def _guard(files: Sequence[Path]) -> str:
    """A shell script. The names are those of control groups, which the agent has made."""
    thaw = "; ".join(f"echo {_word(file, frozen=False)} > '{file}'" for file in files)
    return f"sleep {FREEZE_SECONDS}; {thaw}"


def _freezers(groups: Sequence[str]) -> list[Path]:
    """The file that freezes these groups, of version 1 or 2; none where there is none."""
    for group in groups:
        for name in ("freezer.state", "cgroup.freeze"):
            if (file := Path(group, name)).exists():
                return [file]
    return []


def _write(file: Path, *, frozen: bool) -> bool:
    try:
        file.write_text(_word(file, frozen=frozen))
    except OSError as error:  # it has ended meanwhile
        log.debug("cannot write %s: %s", file, error)
        return False
    return True


def _word(file: Path, *, frozen: bool) -> str:
    if file.name == "cgroup.freeze":
        return "1" if frozen else "0"
    return "FROZEN" if frozen else "THAWED"


def _settled(files: Sequence[Path]) -> bool:
    """True once nothing in the groups runs any more."""
    deadline = time.monotonic() + _SETTLE_SECONDS
    while not all(map(_is_frozen, files)):
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _is_frozen(file: Path) -> bool:
    with suppress(OSError):
        if file.name == "freezer.state":
            return file.read_text().strip() == "FROZEN"
        return "frozen 1" in file.with_name("cgroup.events").read_text()
    return False
