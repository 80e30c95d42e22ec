"""Sends the lines of a spool to the server, and what to do when it does not take one."""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millpond.client.http import Api
from millpond.client.runs import create_run, send_batch, send_points
from millpond.client.spool import BATCH_LINES, ArtifactLines, BatchLines, Group, Header, read_all, read_header, remove
from millpond.errors import BadRequest, Invalid, MillError, NotFound, TooLarge
from millpond.model.ids import new_id
from millpond.model.series import Points
from millpond.wire.points import encode_points
from millpond.wire.runs import written_number

if TYPE_CHECKING:
    from millpond.client.transfer import ApiUploader

log = logging.getLogger(__name__)

# The server understood the line and will never take it: keeping it would hold up all the others.
REFUSED = (BadRequest, Invalid, TooLarge)
# A refused batch is sent in pieces, numbered behind it.
_PIECES = 1000


class Sender:
    """One run at one server. `send` raises what a later try may mend, and drops what no try can."""

    def __init__(self, api: Api, header: Header, artifacts: Path) -> None:
        self._api = api
        self._header = header
        self._artifacts = artifacts
        self._created = header.create is None
        # False once the server has not understood points as bytes.
        self._packs = True
        # One call at a time: whoever logs an artifact, and the thread that empties the spool.
        self._uploading = threading.Lock()
        self._uploader: ApiUploader | None = None

    def create(self) -> None:
        """Make the run at the server, once; doing it twice is one run."""
        if not self._created and self._header.create:
            create_run(self._api, self._header.project, self._header.create)
            self._created = True

    def send(self, group: Group) -> list[str]:
        """Send a batch, or a group of artifacts; return sentences about what was refused for good."""
        self.create()
        if isinstance(group, ArtifactLines):
            return self._send_artifacts(group)
        if not group.lines:
            return []
        number = group.number * _PIECES
        try:
            self._send_batch(group.lines, number)
        except REFUSED:
            return self._send_pieces(group.lines, number)
        return []

    def send_files(self, files: Mapping[str, Path]) -> None:
        """Send artifacts straight to the lake; they are listed when this returns."""
        # Cutting and packing takes long to import, and most runs have no artifacts.
        from millpond.client.artifacts import send_artifacts  # noqa: PLC0415
        from millpond.client.transfer import ApiUploader  # noqa: PLC0415

        self.create()
        with self._uploading:
            uploader = self._uploader or ApiUploader(self._api, self._header.project)
            self._uploader = None
            try:
                send_artifacts(uploader, self._api, self._header.project, self._header.run, files)
            except BaseException:
                uploader.close()
                raise
            # Kept for the next call, unless it was told that the project has nothing: that is over now.
            if uploader.begins_empty:
                uploader.close()
            else:
                self._uploader = uploader

    def close(self) -> None:
        with self._uploading:
            if self._uploader is not None:
                self._uploader.close()
                self._uploader = None

    def _send_batch(self, lines: Sequence[Any], number: int) -> None:
        writer, project, run = self._header.writer, self._header.project, self._header.run
        if self._packs and all(isinstance(line, list) for line in lines):
            try:
                send_points(self._api, project, run, encode_points(writer, number, points_of(lines)))
                return
            except BadRequest:
                # A server of an older version, which knows points as JSON only.
                self._packs = False
        send_batch(self._api, project, run, batch_of(lines) | {"writer": writer, "sequence": number})

    def _send_pieces(self, lines: Sequence[Any], number: int) -> list[str]:
        """The points key by key, everything else line by line: what is good of a refused batch is taken."""
        points: dict[str, list[Any]] = {}
        for line in lines:
            if isinstance(line, list):
                points.setdefault(line[0], []).append(line)
        others = [[line] for line in lines if not isinstance(line, list)]
        problems = []
        for place, piece in enumerate([*others, *points.values()][: _PIECES - 1], 1):
            try:
                self._send_batch(piece, number + place)
            except REFUSED as error:
                log.warning("run_line_refused run=%s: %s", self._header.run, error.message)
                problems.append(f"the server refused part of what run {self._header.run} reported: {error.message}")
        return problems

    def _send_artifacts(self, group: ArtifactLines) -> list[str]:
        # One that is gone was sent before a crash, or by another process this moment; only its line is left.
        kept = {path: self._artifacts / file for path, file in group.files if (self._artifacts / file).exists()}
        problems = []
        try:
            if kept:
                self.send_files(kept)
        except REFUSED as error:
            if len(group.files) > 1:  # one of them: the others go without it
                return [problem for one in group.files for problem in self._send_artifacts(ArtifactLines([one]))]
            problems = [f"the server refused an artifact of run {self._header.run}: {error.message}"]
        for _, file in group.files:
            (self._artifacts / file).unlink(missing_ok=True)
        return problems


class HeldSender:
    """Sends lines that no disk has, as a writer of their own: they have no place in the order of the spool."""

    def __init__(self, api: Api, header: Header) -> None:
        self._sender = Sender(api, replace(header, writer=new_id(16)), Path())
        self._waiting: deque[BatchLines] = deque()
        self._next = 0

    @property
    def is_waiting(self) -> bool:
        """True if a try failed: what it was to send goes again before anything else, under its number."""
        return bool(self._waiting)

    def send(self, take: Callable[[], Sequence[bytes]]) -> list[str]:
        """Send what waits, or what `take` gives; a write may hold several lines. As `Sender.send`."""
        if not self._waiting:
            lines = [json.loads(line) for line in b"".join(take()).splitlines()]
            for begin in range(0, len(lines), BATCH_LINES):
                self._waiting.append(BatchLines(self._next, lines[begin : begin + BATCH_LINES]))
                self._next += 1
        problems = []
        while self._waiting:
            problems += self._sender.send(self._waiting[0])
            self._waiting.popleft()
        return problems


def batch_of(lines: Sequence[Any]) -> dict[str, Any]:
    """A `RunBatch` without its number: points as columns, of everything else the newest."""
    series: dict[str, dict[str, Any]] = {}
    found: dict[str, Any] = {"params": {}, "tags": {}, "origin": {}}
    for line in lines:
        if isinstance(line, list):
            key, step, value, at = line
            part = series.get(key)
            if part is None:
                part = series[key] = {"key": key, "steps": [], "values": [], "times": []}
            part["steps"].append(step)
            part["values"].append(value if isfinite(value) else written_number(value))
            part["times"].append(at)
            continue
        for name, value in line.items():
            if name == "inputs":
                found[name] = [*found.get(name, ()), *value]
            else:
                found[name] = {**found[name], **value} if isinstance(found.get(name), dict) else value
    return found | {"series": list(series.values())}


def points_of(lines: Sequence[Any]) -> dict[str, Points]:
    """Points by key, in the order they came."""
    found: dict[str, Points] = {}
    for key, step, value, at in lines:
        one = found.get(key)
        if one is None:
            one = found[key] = Points()
        one.steps.append(step)
        one.values.append(value)
        one.times.append(at)
    return found


def send_spool(api: Api, path: Path) -> list[str]:
    """Send a spool that its own process left behind, and remove it; sentences about what the server refused.

    Two processes may send the same spool at once: every line counts once, and what is gone was sent.
    """
    header = read_header(path)
    if header is None:
        return []
    sender = Sender(api, header, path.with_suffix(".artifacts"))
    problems: list[str] = []
    try:
        sender.create()
        for group in read_all(path):
            problems.extend(sender.send(group))
    except FileNotFoundError:
        return problems
    except NotFound as error:
        # The run or its project was deleted: nobody will ever read these lines.
        problems.append(f"run {header.run} no longer exists ({error.message}); its unsent reports were dropped")
    finally:
        sender.close()
    remove(path)
    return problems


def abandoned_spools(directory: Path, server: str | None = None) -> list[Path]:
    """Spools for `server`, or for any, whose process has ended, oldest first."""
    found = sorted((_written_at(path), path) for path in directory.glob("*.jsonl"))
    headers = ((at, path, read_header(path)) for at, path in found)
    return [
        path
        for at, path, header in headers
        if header and server in (None, header.server) and not header.is_alive(at)
    ]  # fmt: skip


def waiting_elsewhere(directory: Path, server: str) -> Mapping[str, int]:
    """How many abandoned spools there are for other servers than this one, by server."""
    headers = (read_header(path) for path in abandoned_spools(directory))
    return Counter(header.server for header in headers if header and header.server != server)


def send_abandoned(api: Api, directory: Path, recorded_for: str | None = "") -> tuple[int, list[str]]:
    """Send what earlier processes left; how many spools went, and what the server refused. Raises when it is away.

    Those that were recorded for this server; with `recorded_for`, for that one; with None, for any.
    """
    sent, problems = 0, []
    for path in abandoned_spools(directory, api.base_url if recorded_for == "" else recorded_for):
        try:
            problems.extend(send_spool(api, path))
            sent += 1
        except MillError as error:
            if error.transient:
                raise
            problems.append(f"{path.name}: {error.message}")
    return sent, problems


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
