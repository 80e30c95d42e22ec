"""Takes the request log of a router, file by file, to the archive of its site (`log_archive.py`).

The files are the job's: they are read without following links, and one that is none of a router's is removed. A file
stays where it is until every row of it is in the archive; taken again after a kill, it is there once.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.agent import service_folder
from millpond.agent.log_archive import CLOSED, ArchiveFolder, LogArchive, read_file, remove_file, written_at
from millpond.agent.service_folder import SERVICE
from millpond.model.ids import is_id

log = logging.getLogger(__name__)

FOLDER = "log"
OPEN = ".jsonl.open"
LOOK_SECONDS = 5.0


class RequestLogTaker:
    """Of one placement; one that is no router has nothing to take."""

    def __init__(self, archive: LogArchive, directory: Path) -> None:
        self._archive = archive
        self._directory = directory
        self._folder = directory / SERVICE / FOLDER

    async def run(self) -> None:
        """Take files as the router closes them, forever."""
        while True:
            await asyncio.to_thread(self.take, (CLOSED,))
            await asyncio.sleep(LOOK_SECONDS)

    async def finish(self) -> None:
        """Take what is left once the router has ended, also the file it had open."""
        await asyncio.to_thread(self.take, (CLOSED, OPEN))

    def take(self, endings: tuple[str, ...]) -> None:
        """All files with these endings, as far as there is room for them."""
        endpoints = self._endpoints()
        for path in self._files(endings):
            try:
                if self._take(path, endpoints):
                    remove_file(path)
            except OSError as error:
                log.warning("request log stays with its router: placement=%s %s", self._directory.name, error)

    def _endpoints(self) -> dict[str, ArchiveFolder]:
        """Where rows go, by the names of the endpoints that the router knows; each has its rules there."""
        found: dict[str, ArchiveFolder] = {}
        for one in service_folder.router_config(self._directory).get("endpoints") or ():
            if isinstance(one, Mapping) and is_id(str(one.get("id"))) and isinstance(one.get("log"), Mapping):
                found[str(one.get("name"))] = folder = self._archive.folder(str(one["id"]))
                if one["log"].get("level", "none") != "none":
                    _keep_rules(folder, str(one.get("name")), one["log"])
        return found

    def _take(self, path: Path, endpoints: Mapping[str, ArchiveFolder]) -> bool:
        """False while there is no room for it: the router then counts what it cannot write any more."""
        content = read_file(path)
        if content is None:
            return True
        name, at = path.name.removesuffix(".open"), written_at(path)
        parts = [(self._place(key, endpoints), lines) for key, lines in _by_endpoint(content).items()]
        there = [(folder, lines) for folder, lines in parts if folder is not None]
        if any(not _has_room(folder, name, len(lines)) for folder, lines in there):
            return False
        for folder, lines in there:
            folder.add(name, lines, at)
        return True

    def _place(self, name: str, endpoints: Mapping[str, ArchiveFolder]) -> ArchiveFolder | None:
        """None for rows of an endpoint that nobody knows any more."""
        return endpoints.get(name) or self._archive.find(name)

    def _files(self, endings: tuple[str, ...]) -> list[Path]:
        try:
            return sorted(path for path in self._folder.iterdir() if path.name.endswith(endings))
        except OSError:
            return []


def _keep_rules(folder: ArchiveFolder, name: str, rules: Mapping[str, Any]) -> None:
    try:
        folder.set_rules(name, rules)
    except OSError as error:
        log.warning("cannot keep the rules of a request log: endpoint=%s %s", name, error)


def _has_room(folder: ArchiveFolder, name: str, size: int) -> bool:
    most, here = folder.rules().max_bytes, folder.path / name
    return most is None or here.exists() or folder.size() + size <= most


def _by_endpoint(content: bytes) -> dict[str, bytes]:
    """Lines by the endpoint that they name. What is no row, as half a line at the end, is left out."""
    found: dict[str, list[bytes]] = {}
    for line in content.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and isinstance(row.get("endpoint"), str):
            found.setdefault(row["endpoint"], []).append(line)
    return {name: b"\n".join(lines) + b"\n" for name, lines in found.items()}
