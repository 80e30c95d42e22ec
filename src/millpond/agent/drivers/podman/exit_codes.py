"""What the exit code of `podman run` and the last words in the log say of how the command ended."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path

from millpond.agent.drivers import Exited, Reason
from millpond.agent.drivers.podman.commands import error_of

_TAIL_BYTES = 4096
_PODMAN_FAILED, _NOT_EXECUTABLE, _NOT_FOUND = 125, 126, 127
_INIT_FAILED = re.compile(r"ERROR \(catatonit:\d+\): failed to exec pid1: (.*)|\[FATAL tini.*\] exec .* failed: (.*)")


def explained(said: Exited, command: str, log: Path) -> Exited:
    """A container has no exit code for a signal but 128 and its number; and Podman's own failures look like those of
    the command but for what it says in the log."""
    if said.reason is Reason.NOT_STARTED or said.exit_code is None:
        return said
    code, last = said.exit_code, _tail(log)
    if said.reason is None and (failed := _never_began(code, last, command)) is not None:
        return replace(said, started_at=None, reason=Reason.NOT_STARTED, exit_code=failed[0], problem=failed[1])
    if code > 128 and code - 128 in signal.valid_signals():
        return replace(said, exit_code=None, signal=code - 128)
    return said


def _never_began(code: int, last: str, command: str) -> tuple[int, str] | None:
    """The exit code that a shell would give, and why in words; None when it did begin."""
    lines = last.strip().splitlines()
    init = _INIT_FAILED.search(lines[-1]) if lines else None
    if init is not None and code in (1, _NOT_EXECUTABLE, _NOT_FOUND):
        return _in_words(init[1] or init[2], command)
    words = error_of(last)
    if words is None or code not in (_PODMAN_FAILED, _NOT_EXECUTABLE, _NOT_FOUND):
        return None
    if code != _PODMAN_FAILED and "exec" in words:
        return _in_words(words, command)
    return code, f"Podman could not start the container: {words}."


def _in_words(words: str, command: str) -> tuple[int, str]:
    if "permission denied" in words.lower():
        return _NOT_EXECUTABLE, f"Permission denied: {command!r} is not executable in the image."
    return _NOT_FOUND, f"Command not found in the image: {command!r}."


def _tail(log: Path) -> str:
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
