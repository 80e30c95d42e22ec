"""Sends the lines of a spool to the server, and what to do when it does not take one."""

from __future__ import annotations

import logging
from pathlib import Path

from millpond.client.http import Api
from millpond.client.runs import create_run, put_artifact, send_batch
from millpond.client.spool import ArtifactLine, Header, Line, read_all, read_header, remove
from millpond.errors import BadRequest, Invalid, MillError, NotFound, TooLarge

log = logging.getLogger(__name__)

# The server understood the line and will never take it: keeping it would hold up all the others.
_REFUSED = (BadRequest, Invalid, TooLarge)


class Sender:
    """One run at one server. `send` raises what a later try may mend, and drops what no try can."""

    def __init__(self, api: Api, header: Header, artifacts: Path) -> None:
        self._api = api
        self._header = header
        self._artifacts = artifacts
        self._created = header.create is None

    def create(self) -> None:
        """Make the run at the server, once; doing it twice is one run."""
        if not self._created and self._header.create:
            create_run(self._api, self._header.project, self._header.create)
            self._created = True

    def send(self, line: Line) -> str | None:
        """Send one line; a sentence when the server refuses it for good."""
        self.create()
        try:
            self._send(line)
        except _REFUSED as error:
            log.warning("run_line_refused run=%s: %s", self._header.run, error.message)
            return f"the server refused a part of what run {self._header.run} reported: {error.message}"
        return None

    def _send(self, line: Line) -> None:
        project, run = self._header.project, self._header.run
        if not isinstance(line, ArtifactLine):
            send_batch(self._api, project, run, line.batch)
            return
        file = self._artifacts / line.file
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            # Sent before a crash, or by another process this moment; only its line is left.
            return
        put_artifact(self._api, project, run, line.path, content)
        file.unlink(missing_ok=True)


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
        problems.extend(problem for line in read_all(path) if (problem := sender.send(line)))
    except FileNotFoundError:
        return problems
    except NotFound as error:
        # The run or its project was deleted: nobody will ever read these lines.
        problems.append(f"run {header.run} is not there any more ({error.message}); its unsent lines were dropped")
    remove(path)
    return problems


def abandoned_spools(directory: Path, server: str) -> list[Path]:
    """Spools for `server` whose process has ended, oldest first."""
    found = sorted((_written_at(path), path) for path in directory.glob("*.jsonl"))
    headers = ((at, path, read_header(path)) for at, path in found)
    return [path for at, path, header in headers if header and header.server == server and not header.is_alive(at)]


def send_abandoned(api: Api, directory: Path) -> tuple[int, list[str]]:
    """Send what earlier processes left; how many spools went, and what the server refused. Raises when it is away."""
    sent, problems = 0, []
    for path in abandoned_spools(directory, api.base_url):
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
