"""Timing of commands, their memory, and trees to work on: what every benchmark shares."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

# Files come in folders of this many, as datasets of images do.
PER_FOLDER = 1000


@dataclass(frozen=True, slots=True)
class Measured:
    """Wall time, greatest resident memory, and the processor time of the command itself, all its processes."""

    seconds: float
    peak_rss: int
    cpu_seconds: float = 0.0
    output: str = ""


class CommandFailed(Exception):
    """A measured command did not succeed; its output is the message."""


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def run(
    command: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str] | None = None, settled: bool = True
) -> Measured:
    """Run to the end; wall time, and the greatest sum of resident memory over the command's whole process tree.

    What was written before is on the disk first (`settled`), so that nobody pays for another's bytes.
    """
    words = [str(part) for part in command]
    if settled:
        os.sync()
    cpu_before = _children_cpu()
    began = time.perf_counter()
    process = subprocess.Popen(
        words, cwd=cwd, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    watcher = MemoryWatcher(process.pid)
    watcher.start()
    output, _ = process.communicate()
    seconds = time.perf_counter() - began
    watcher.finish()
    if process.returncode:
        raise CommandFailed(f"{' '.join(words)} ended with {process.returncode}:\n{output.decode(errors='replace')}")
    return Measured(seconds, watcher.peak, _children_cpu() - cpu_before, output.decode(errors="replace"))


def flush(place: Path) -> Measured:
    """What writing back takes that a command has left to the kernel."""
    return run(["sync", "-f", place], cwd=place, settled=False)


def fresh(work: Path, name: str = "target") -> Path:
    """A new folder below `work`. Nothing of it is removed before the end of the benchmark.

    ext4 without a journal looks at every inode that was freed within the last minutes before it makes a file: after
    30,000 files were removed, the same `tar x` took 19 s of the kernel instead of 2.
    """
    for number in count():
        place = work / f"{name}-{number}"
        if not place.exists():
            place.mkdir()
            return place
    raise AssertionError("unreachable")


def medians(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: median(one[name] for one in rounds) for name in rounds[0]}


def make_tree(target: Path, files: int, size: int, seed: int = 0) -> None:
    """`files` files around `size` bytes of random content: nothing to compress, nothing to deduplicate."""
    chance = random.Random(seed)
    for number in range(files):
        folder = target / f"part-{number // PER_FOLDER:04d}"
        if number % PER_FOLDER == 0:
            folder.mkdir(parents=True, exist_ok=True)
        length = chance.randint(size * 3 // 4, size * 5 // 4)
        (folder / f"{number:07d}.bin").write_bytes(chance.randbytes(length))


def _children_cpu() -> float:
    """Of all children that have ended: exact as long as commands run one after the other."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class MemoryWatcher(threading.Thread):
    """Samples a process tree until told to stop. Whoever is measured pays for it, on so few cores: new processes are
    looked for only now and then."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._family = [pid]
        self._stop_now = threading.Event()
        self.peak = 0

    def run(self) -> None:
        for sample in count():
            if self._stop_now.wait(0.05):
                return
            if sample % 4 == 0:
                self._family = _family(self._pid)
            self.peak = max(self.peak, sum(map(_resident, self._family)))

    def finish(self) -> None:
        self._stop_now.set()
        self.join()


def _family(pid: int) -> list[int]:
    """A process and all below it, as the kernel lists them: looking through all processes takes 3 ms of CPU."""
    found = [pid]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, children.read_text().split())
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:  # it has ended
        return 0
