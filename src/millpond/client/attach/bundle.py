"""Millpond and what its agent needs as one archive, so that a machine without the internet can run it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import millpond

# What the server needs and no agent: a third of everything.
_SERVER_ONLY = frozenset(
    {"alembic", "argon2-cffi", "cryptography", "fastapi", "prometheus-client", "sqlalchemy", "uvicorn"}
)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class RemoteMachine:
    """What compiled packages depend on."""

    system: str
    machine: str
    python: tuple[int, int]
    # Of the C library; empty where it cannot be told.
    libc: str

    @classmethod
    def here(cls) -> RemoteMachine:
        libc = " ".join(platform.libc_ver()).strip()
        return cls(platform.system(), platform.machine(), (sys.version_info[0], sys.version_info[1]), libc)

    def can_use_packages_of(self, other: RemoteMachine) -> bool:
        """The same, with a C library that is not older."""
        same = (self.system, self.machine, self.python) == (other.system, other.machine, other.python)
        return same and _libc(self.libc) >= _libc(other.libc)


def requirements() -> list[str]:
    """What `pip install` is told where the packages of this machine cannot be used."""
    own = importlib.metadata.requires("millpond") or []
    return [line for line in own if "extra ==" not in line and _key(line) not in _SERVER_ONLY]


def make_bundle(*, with_packages: bool) -> tuple[str, bytes]:
    """A name that changes with the content, and a tar file to be unpacked into a directory on PYTHONPATH."""
    files = sorted(_files(with_packages), key=lambda item: item[0])
    digest = hashlib.sha256()
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
        for name, path in files:
            data = path.read_bytes()
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            tar.addfile(entry, BytesIO(data))
    return digest.hexdigest()[:16], buffer.getvalue()


def _files(with_packages: bool) -> Iterator[tuple[str, Path]]:
    root = Path(millpond.__file__).parent
    for path in root.rglob("*"):
        inside = path.relative_to(root)
        if path.is_file() and "__pycache__" not in inside.parts and inside.parts[:2] != ("api", "static"):
            yield f"millpond/{inside.as_posix()}", path
    if with_packages:
        for distribution in _distributions():
            yield from _files_of(distribution)


def _files_of(distribution: importlib.metadata.Distribution) -> Iterator[tuple[str, Path]]:
    for file in distribution.files or ():
        path = Path(str(file.locate()))
        # `../../bin/…` are commands, which nobody calls there.
        if ".." not in file.parts and file.suffix != ".pyc" and path.is_file():
            yield file.as_posix(), path


def _distributions() -> list[importlib.metadata.Distribution]:
    """Everything that Millpond's own requirements lead to, and that is installed here."""
    found: dict[str, importlib.metadata.Distribution] = {}
    waiting = [_key(line) for line in requirements()]
    while waiting:
        name = waiting.pop()
        if name in found or name in _SERVER_ONLY:
            continue
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # for other systems or versions of Python
        waiting += [_key(line) for line in found[name].requires or () if "extra ==" not in line]
    return [found[name] for name in sorted(found)]


def _key(requirement: str) -> str:
    match = _NAME.match(requirement)
    return match[0].lower().replace("_", "-") if match else ""


def _libc(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))
