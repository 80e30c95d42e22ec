"""What files a job sees: the machine as it is, but for everything that belongs to others or to the agent.

Whatever lies below a hidden directory is gone for the job; what it needs of that is shown at the same path again. So
the paths of a job are the same inside and outside, however closed the directories above them are.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import millpond
from millpond.agent.spec import Mount

# Variables that name files which programs in a job read.
_FILES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "MILL_CA_FILE")


@dataclass(frozen=True, slots=True)
class Shown:
    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class FileView:
    """See `confine.enter_view`."""

    hide: tuple[str, ...]
    show: tuple[Shown, ...]


def view_of(
    *,
    private: Iterable[Path],
    own: Sequence[Path],
    inputs: Mapping[Path, str],
    programs: Sequence[Path],
    data: bool,
    mounts: Sequence[Mount] = (),
) -> FileView:
    """`private` directories are hidden, and whatever else nobody but its owner enters above what the job needs.

    `own` are the job's directories, to write in; `inputs` are shown where they lie and, with `data`, also at the
    target that each maps to; `programs` are files and directories that it needs to be able to read. `mounts` are shown
    where they lie, and at their targets where this machine has an empty directory for that.
    """
    needed = [*map(_real, own), *map(_real, programs)]
    closed = (closed_above(path) for path in needed)
    targets = list(inputs.values()) if data else []
    hide = _outermost([*map(_real, private), *(path for path in closed if path), *map(_top, targets)])
    readable = [*map(_real, inputs), *(path for path in map(_real, programs) if _is_below(path, hide))]
    show = [Shown(str(path), str(path), writable=True) for path in map(_real, own)]
    show += [Shown(str(path), str(path)) for path in _outermost(readable)]
    show += [Shown(str(_real(path)), target) for path, target in inputs.items()] if data else []
    for mount in mounts:
        source = str(_real(Path(mount.source)))
        targets_of = [source, *([mount.target] if _is_empty_directory(mount.target) else [])]
        show += [Shown(source, target, writable=mount.writable) for target in targets_of]
    return FileView(tuple(map(str, hide)), tuple(show))


def programs(env: Mapping[str, str]) -> list[Path]:
    """What a job may need to run `python` and `import millpond`, and to trust the server, wherever that lies."""
    places = [Path(sys.prefix), Path(sys.base_prefix), Path(millpond.__file__).parents[1]]
    places += [Path(env[name]) for name in _FILES if env.get(name)]
    return [path for path in places if path.exists()]


def closed_above(path: Path) -> Path | None:
    """The first directory above `path` that only its owner or its group may enter; None if there is none."""
    for directory in reversed(path.parents):
        if not directory.stat().st_mode & stat.S_IXOTH:
            return directory
    return None


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Without those that lie below others."""
    found: list[Path] = []
    for path in sorted(set(paths)):
        if not _is_below(path, found):
            found.append(path)
    return found


def _is_below(path: Path, directories: Iterable[Path]) -> bool:
    return any(path.is_relative_to(directory) for directory in directories)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_empty_directory(path: str) -> bool:
    """Only an empty directory is replaced: whatever else is there may be run by the agent itself."""
    try:
        return os.path.realpath(path) == path and not os.listdir(path)
    except OSError:
        return False


def _top(target: str) -> Path:
    """`/data` of `/data/xray`."""
    return Path("/", Path(target).parts[1])
