"""Request logs of endpoints that wait at a site: on a volume, a directory for each endpoint (docs/design/023).

They outlive the router that wrote them, its machine's disk and its agent. Where no volume works they lie on the agent's
own disk. Whoever looks after the volume sends them (`log_sending.py`).
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.agent.volumes import Volumes
from millpond.decide.endpoints.log_rules import LogRules, rules_of
from millpond.volumes.volume import sync_directory, write_durable

log = logging.getLogger(__name__)

CLOSED = ".jsonl"
_RULES = "rules.json"
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class ArchiveFolder:
    """What waits of one endpoint in one place."""

    path: Path

    @property
    def endpoint_id(self) -> str:
        return self.path.name

    def files(self) -> list[Path]:
        """Oldest first."""
        try:
            return sorted(path for path in self.path.iterdir() if path.name.endswith(CLOSED))
        except OSError:
            return []

    def size(self) -> int:
        return sum(_size(path) for path in self.files())

    def rules(self) -> LogRules:
        return rules_of(self._document())

    def name(self) -> str:
        """Of the endpoint, when its rules were last told."""
        return str(self._document().get("name", ""))

    @property
    def rules_are_known(self) -> bool:
        return bool(self._document())

    def copy_rules(self, other: ArchiveFolder) -> None:
        told = other._document()
        self.set_rules(str(told.get("name", "")), told)

    def set_rules(self, name: str, rules: Mapping[str, Any]) -> None:
        """As its router was told last; what has not changed is left alone."""
        told = {**rules, "name": name}
        if self._document() == told:
            return
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_durable(self.path / _RULES, json.dumps(told))

    def add(self, name: str, content: bytes, written_at: float) -> None:
        """Whole or not at all, and still there after a power cut. Added twice it is there once."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self.path / f".{name}.new"
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.utime(temporary, (written_at, written_at))
        temporary.replace(self.path / name)
        sync_directory(self.path)

    def remove_if_empty(self) -> None:
        """A file that has just come keeps it."""
        with suppress(OSError):
            if not self.files():
                (self.path / _RULES).unlink(missing_ok=True)
                self.path.rmdir()

    def remove(self) -> None:
        """Its endpoint is gone."""
        shutil.rmtree(self.path, ignore_errors=True)

    def _document(self) -> dict[str, Any]:
        try:
            found = json.loads((self.path / _RULES).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


class LogArchive:
    """Where request logs wait: `own` is on the agent's disk."""

    def __init__(self, volumes: Volumes, own: Path) -> None:
        self._volumes = volumes
        self._own = own

    def folder(self, endpoint_id: str) -> ArchiveFolder:
        """Where new files of an endpoint go: the first volume of the site that works, or the agent's own disk."""
        working = [watch.volume.request_logs for watch in self._volumes.working()]
        return ArchiveFolder((working or [self._own])[0] / endpoint_id)

    def find(self, name: str) -> ArchiveFolder | None:
        """That of an endpoint of this name which its router is not told of any more."""
        here = [folder for root in self._roots(tended=False) for folder in _folders(root)]
        return next((folder for folder in here if folder.name() == name), None)

    def settle(self) -> None:
        """Take to a volume what came while none worked, as when an agent has just begun."""
        if not self._volumes.working():
            return
        for here in _folders(self._own):
            there = self.folder(here.endpoint_id)
            if not there.rules_are_known:
                there.copy_rules(here)
            for path in here.files():
                content = read_file(path)
                if content:
                    there.add(path.name, content, written_at(path))
                remove_file(path)
            here.remove_if_empty()

    def to_send(self) -> list[ArchiveFolder]:
        """Those that are this agent's to send."""
        return [folder for root in self._roots(tended=True) for folder in _folders(root)]

    def bytes_by_volume(self) -> dict[str, int]:
        """What waits on volumes that this agent looks after, by their ids."""
        tended = [watch.volume for watch in self._volumes.working() if watch.tended]
        return {one.id: sum(folder.size() for folder in _folders(one.request_logs)) for one in tended}

    def _roots(self, *, tended: bool) -> list[Path]:
        working = [watch for watch in self._volumes.working() if watch.tended or not tended]
        return [*(watch.volume.request_logs for watch in working), self._own]


def read_file(path: Path) -> bytes | None:
    """None for what is no plain file, or too long. A link is not followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return None
        return file.read(_MOST_BYTES)


def remove_file(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("cannot remove a request log: file=%s %s", path.name, error)


def written_at(path: Path) -> float:
    """Of a file that is gone: never."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return float("inf")


def _folders(root: Path) -> list[ArchiveFolder]:
    try:
        return [ArchiveFolder(path) for path in sorted(root.iterdir()) if path.is_dir()]
    except OSError:
        return []


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
