"""How long a command may still run, as far as its agent has vouched for it."""

# ruff: noqa: PTH110

from __future__ import annotations

import os

from .clock import boot_id, boot_time
from .files import read_text, write_whole

# How often a keeper on another machine than the agent's tells what its clock shows.
CLOCK_SECONDS = 10.0


class Validity:
    """How long the command may still run: `seconds` from the moment that `renewal` names.

    The agent writes the boot time at which it sent the request that the server answered. Counting from there, and
    not from when the file was seen, an agent that slept between the answer and the writing adds nothing.

    On another machine than the agent's that clock is another one. There the keeper tells its own in `clock`, and the
    agent answers by it; what the message took on its way only makes validity end earlier.
    """

    def __init__(self, path: str, seconds: float) -> None:
        self.path, self.seconds, self.boot = path, seconds, boot_id()
        self.since = boot_time()
        self.tell_at = boot_time() if os.path.exists("clock") else None

    @property
    def end(self) -> float:
        """By the boot-time clock of this machine, and by the last renewal that was heard of."""
        return self.since + self.seconds

    def is_over(self) -> bool:
        self.hear()
        return boot_time() > self.end

    def hear(self) -> bool:
        """Take the last renewal; False while there is none by the clock of this machine."""
        moment, _, boot = (read_text(self.path) or "").partition(" ")
        known = boot in ("", self.boot)
        if known and moment:
            self.since = min(float(moment), boot_time())
        if not known and self.tell_at is None:
            self.tell_at = boot_time()
        if self.tell_at is not None and boot_time() >= self.tell_at:
            self.tell_at = boot_time() + CLOCK_SECONDS
            write_whole("clock", f"{boot_time()!r} {self.boot}")
        return known
