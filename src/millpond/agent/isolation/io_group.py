"""One control group for the disk accesses of all jobs of an agent: what they read and write together is limited.

Version 1 of control groups limits each group by itself, whatever is above it: so all jobs join the same group.
Version 2 limits all below a group: so it is the one that those of placements are in.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Mechanism = Literal["blkio", "io.max"]
_V1_FILES = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
_V2_FILE = "io.max"


@dataclass(frozen=True, slots=True)
class IoGroup:
    """Safe for threads. `rates` are bytes per second by the number of a disk, like `8:0`."""

    directory: Path
    by: Mechanism
    rates: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def enter(self) -> Path | None:
        """The group that a job's processes enter beside those of its placement; None: they are below it already.

        Called after those were made: what was removed when the last job had ended is there again, with its limits.
        """
        with self.lock:
            if self.by == "blkio":
                self.directory.mkdir(parents=True, exist_ok=True)
            if not self.rates.keys() <= set(self.limited()):
                self._write(self.rates)
        return self.directory if self.by == "blkio" else None

    def limit(self, rates: Mapping[str, int]) -> None:
        """These limits hold from now on, for running jobs too; disks that are not named have none. OSError where the
        kernel does not take them: then what was there before holds."""
        with self.lock:
            if self.directory.is_dir():
                self._write({**dict.fromkeys(self.limited(), 0), **rates})
            self.rates.clear()
            self.rates.update(rates)

    def limited(self) -> list[str]:
        """The disks that have a limit now, also one that an earlier agent has set."""
        name = _V2_FILE if self.by == "io.max" else _V1_FILES[0]
        with suppress(FileNotFoundError):
            return [line.split()[0] for line in (self.directory / name).read_text().splitlines() if line.strip()]
        return []

    def remove(self) -> None:
        """If no job is in it."""
        with suppress(OSError):
            self.directory.rmdir()
            self.directory.parent.rmdir()

    def _write(self, rates: Mapping[str, int]) -> None:
        for number, rate in rates.items():
            if self.by == "io.max":
                most = rate or "max"
                (self.directory / _V2_FILE).write_text(f"{number} rbps={most} wbps={most}")
            else:
                for name in _V1_FILES:
                    (self.directory / name).write_text(f"{number} {rate}")
