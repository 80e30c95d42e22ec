"""One volume: where things lie in it, whether it is the right one and can be used, what is published there.

The format is docs/design/002-volume-format.md. Nothing here relies on locks, inotify or extended attributes.
"""

from __future__ import annotations

import errno
import json
import os
import pwd
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from millpond.errors import DiskFull, MillError, VolumeProblem

FORMAT = 1
# Of directories that readers pass through.
PASSABLE = 0o755
# What a fresh file system holds before anybody writes to it, and what an adoption that was interrupted leaves.
_NOT_FOREIGN = frozenset({"lost+found", ".snapshot", ".zfs", ".millpond"})


@dataclass(frozen=True, slots=True)
class CommitPlace:
    """Which directory of a volume holds a commit."""

    project_id: str
    dataset_id: str
    commit_id: str


@dataclass(frozen=True, slots=True)
class Space:
    """What the file system has and what is free of it. Inodes are None where it has no limit on them."""

    total_bytes: int
    free_bytes: int
    total_inodes: int | None = None
    free_inodes: int | None = None


@dataclass(frozen=True, slots=True)
class CacheVolume:
    """The directory of one volume. Paths only; `check` must have succeeded before anything is written."""

    root: Path
    id: str

    @property
    def identity(self) -> Path:
        return self._own / "volume.json"

    @property
    def attempts(self) -> Path:
        return self._own / "attempts"

    @property
    def imports(self) -> Path:
        """Work of imports that no server knows of: agents leave it alone."""
        return self._own / "imports"

    @property
    def request_logs(self) -> Path:
        """Request logs of endpoints that wait to be sent; a directory for each endpoint."""
        return self._own / "request-logs"

    @property
    def trash(self) -> Path:
        return self._own / "trash"

    @property
    def spare(self) -> Path:
        """Holds a directory for an attempt: on a full disk none can be made, and evictions need one."""
        return self._own / "spare"

    @property
    def scratch(self) -> Path:
        """A directory for each service that spills here, removed when it ends."""
        return self._own / "scratch"

    @property
    def probing(self) -> Path:
        return self._own / "probing"

    @property
    def branches(self) -> Path:
        """Links for people that lead to commits by the names of branches."""
        return self.root / "branches"

    @property
    def commits(self) -> Path:
        return self.root / "commits"

    def commit(self, place: CommitPlace) -> Path:
        return self.commits / place.project_id / place.dataset_id / place.commit_id

    def published(self) -> list[CommitPlace]:
        """Every published commit. Names that are not Millpond's are left alone and out."""
        return [
            CommitPlace(project.name, dataset.name, commit.name)
            for project in _directories(self.commits)
            for dataset in _directories(Path(project.path))
            for commit in _directories(Path(dataset.path))
        ]

    def space(self) -> Space:
        """What files have and may have: blocks that the file system keeps for itself are neither free nor taken."""
        found = os.statvfs(self.root)
        free = found.f_bavail * found.f_frsize
        total = (found.f_blocks - found.f_bfree) * found.f_frsize + free
        return Space(total, free, found.f_files, found.f_favail) if found.f_files else Space(total, free)

    @property
    def _own(self) -> Path:
        return self.root / ".millpond"


def check(volume: CacheVolume) -> None:
    """Raise VolumeProblem, in words for people, unless this is the volume it should be and can be written to."""
    with explained(volume):
        _check_identity(volume)
        _probe(volume)


def recognise(volume: CacheVolume) -> None:
    """Raise VolumeProblem unless this is the volume it should be. Writes nothing: it may be mounted read-only."""
    with explained(volume):
        _check_identity(volume)


@dataclass(frozen=True, slots=True)
class VolumeIdentity:
    """What a volume says of itself."""

    volume: str
    lake: str


def adopt(volume: CacheVolume, lake_id: str, *, others: Collection[str] | None = None) -> None:
    """Make a directory that no volume has used yet into `volume`, by its identity file.

    The directory must be there: one that is made here could lie on the wrong disk, below a mount that is missing or a
    name that was mistyped. May be called for a volume that has never been seen well, and only then: an empty mount
    point looks exactly like a new volume. A directory with foreign files, or of another volume, is refused, also while
    that one is empty: another server may be about to fill it. Unless it is of the same lake and none of the `others`
    that the server knows: then it was removed, or its database is gone, and what is cached there is this volume's.
    """
    with explained(volume):
        if not volume.root.is_dir():
            raise _no_directory(
                volume, hint=f"Mount it, or create it with `mkdir -p {volume.root}`, on the machines of its site."
            )
        found = read_identity(volume)
        if found is not None and found.volume == volume.id:
            return
        is_left_over = found is not None and others is not None and found.volume not in others and found.lake == lake_id
        if found is not None and not is_left_over:
            raise _other_volume(volume, found, lake_id)
        if found is None and (foreign := _foreign(volume.root)):
            raise VolumeProblem(
                f"{volume.root} is not empty and not a volume of Millpond (it holds {foreign!r}).",
                hint="Use an empty directory for the volume.",
            )
        volume.identity.parent.mkdir(exist_ok=True)
        text = json.dumps({"format": FORMAT, "lake": lake_id, "volume": volume.id}, sort_keys=True)
        write_durable(volume.identity, text)


@contextmanager
def explained(volume: CacheVolume) -> Iterator[None]:
    """Turn what the operating system says about the volume into what people can act on."""
    try:
        yield
    except OSError as error:
        raise explain(error, volume) from error


def explain(error: OSError, volume: CacheVolume) -> MillError:
    root = volume.root
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"The disk of the volume at {root} is full.", hint="Free space there, or clear cached commits.")
    if error.errno == errno.EROFS:
        return VolumeProblem(f"{root} is mounted read-only.", hint="Mount it with write permission.")
    if error.errno in (errno.EACCES, errno.EPERM):
        who = _account()
        return VolumeProblem(f"The agent, which runs as {who}, cannot write to {root}.", hint=_what_is_allowed(who))
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ESTALE):
        return VolumeProblem(
            f"The directory {root} is missing or changed under the agent.",
            hint="Mount it again, or create it and add the volume again.",
        )
    return VolumeProblem(f"Cannot use {root}: {error.strerror or error}.")


def _account() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # in a container there may be no name for it
        return f"user {os.geteuid()}"


def _what_is_allowed(who: str) -> str:
    if os.geteuid() != 0:
        return f"Give the directory, with all that is in it, to {who}."
    # Root owns whatever it likes: something else refuses it.
    return (
        "Root is refused there: by a file server that takes it for nobody (export it with no_root_squash, or run the "
        "agent as the one who owns the directory), by an attribute (lsattr) or by a security policy."
    )


def write_durable(path: Path, text: str) -> None:
    """Whole or not at all, and still there after a power cut."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    with open(temporary, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def make_passable(directory: Path) -> None:
    """Make a directory, and those above it, that readers pass through, whatever the agent's umask; others stay."""
    if directory.is_dir():
        return
    make_passable(directory.parent)
    try:
        directory.mkdir()
    except FileExistsError:
        return  # somebody else was faster
    with suppress(PermissionError, FileNotFoundError):  # some file servers change none; an eviction may remove it
        directory.chmod(PASSABLE)


def appears(path: Path, *, within: float = 3.0) -> bool:
    """Whether something is at `path`. On NFS a name that another host has made may be seen a little later."""
    deadline = time.monotonic() + within
    while not path.is_dir():
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_identity(volume: CacheVolume) -> None:
    if not volume.root.is_dir():
        raise _no_directory(volume, hint="Mount it again, or create it and add the volume again.")
    found = read_identity(volume)
    if found is None:
        raise VolumeProblem(
            f"{volume.root} is not this volume: its identity file is missing.",
            hint="Is the file system mounted? If its files are lost, remove the volume and add it again.",
        )
    if found.volume != volume.id:
        raise _other_volume(volume, found)


def _no_directory(volume: CacheVolume, *, hint: str) -> VolumeProblem:
    if volume.root.exists():
        return VolumeProblem(f"{volume.root} is not a directory.", hint="Use an empty directory for the volume.")
    return VolumeProblem(f"The directory {volume.root} does not exist.", hint=hint)


def read_identity(volume: CacheVolume) -> VolumeIdentity | None:
    """What the directory says it is; None if it is no volume. VolumeProblem for what cannot be read."""
    try:
        document = json.loads(volume.identity.read_bytes())
        if document["format"] > FORMAT:
            raise VolumeProblem(f"The volume at {volume.root} was made by a newer version of Millpond.")
        return VolumeIdentity(str(document["volume"]), str(document.get("lake", "")))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise VolumeProblem(f"Cannot read the identity file {volume.identity}: {error}.") from error


def _probe(volume: CacheVolume) -> None:
    """Write, rename and remove a file: permissions, read-only mounts and full disks show themselves here."""
    # A name of its own: others look at the same time, other threads and agents in containers with this process id, too.
    before = volume.probing / secrets.token_hex(8)
    after = before.with_suffix(".renamed")
    try:
        volume.probing.mkdir(exist_ok=True)
        before.write_bytes(b"probe")
        before.rename(after)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        # A full disk is no reason to stop using what is there: fills say it when they meet it.
    finally:
        before.unlink(missing_ok=True)
        after.unlink(missing_ok=True)


def _other_volume(volume: CacheVolume, found: VolumeIdentity, lake_id: str | None = None) -> VolumeProblem:
    is_elsewhere = lake_id not in (None, found.lake)
    hint = "Mount the right file system there, or add the volume with another directory."
    if is_elsewhere:
        hint += " If it was removed there, or its lake is gone for good, empty the directory first."
    return VolumeProblem(
        f"{volume.root} is another volume{' of another lake' if is_elsewhere else ''} ({found.volume}), "
        f"not this one ({volume.id}).",
        hint=hint,
    )


def _foreign(root: Path) -> str | None:
    """The name of something in `root` that a new volume would not have."""
    return next((name for name in sorted(os.listdir(root)) if name not in _NOT_FOREIGN), None)


def _directories(path: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            yield from (entry for entry in entries if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return
