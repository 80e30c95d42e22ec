"""Progress on stderr: a live line on a terminal, a plain line every ten seconds otherwise, nothing when quiet."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from millpond.cli.output import Output
from millpond.errors import Unavailable
from millpond.model.quantity import format_bytes, format_seconds

if TYPE_CHECKING:
    from rich.progress import Progress

    from millpond.lake import transfer

PLAIN_SECONDS = 10.0


class TransferSpeed(NamedTuple):
    """Of a transfer; None for what is not known."""

    bytes_per_second: float | None = None
    seconds_left: float | None = None


class Meter:
    """Files, bytes, rate and time left of a transfer. Updated from any thread; a `total` of 0 means unknown."""

    def __init__(self, out: Output, title: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._title = title
        self._clock = clock
        self._began = clock()
        self._lock = threading.Lock()
        self._said = self._began
        self._words = ""
        self._live: Progress | None = None
        if not out.quiet and out.stderr.isatty():
            self._live = _live_line(out)
            self._task = self._live.add_task(title, total=None, words="")

    def __enter__(self) -> Meter:
        if self._live:
            self._live.start()
            self._out.above = partial(self._live.console.print, markup=False, soft_wrap=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._out.above = None
            self._live.stop()

    def update(
        self,
        *,
        done: int = 0,
        total: int = 0,
        files: int = 0,
        total_files: int = 0,
        title: str | None = None,
        waits: str | None = None,
        told: TransferSpeed | None = None,
    ) -> None:
        """Set the totals done so far (not the increment). `waits` is shown instead of rate and time left.

        Both are reckoned from what was done since the beginning, unless whoever does the work has `told` them.
        """
        with self._lock:
            self._title = title or self._title
            elapsed = 0.0 if waits else max(self._clock() - self._began, 1e-6)
            speed = told or _speed_so_far(done, total, elapsed)
            words = progress_words(done, total, files, total_files, TransferSpeed() if waits else speed)
            self._words = f"{words} · {waits}" if waits else words
            if self._live:
                self._live.update(
                    self._task,
                    description=self._title,
                    completed=done if total else files,
                    total=total or total_files or None,
                    words=self._words,
                )
            elif not self._out.quiet and self._clock() - self._said >= PLAIN_SECONDS:
                self._said = self._clock()
                self._out.note(f"{self._title}: {self._words}")

    @property
    def seconds(self) -> float:
        return self._clock() - self._began

    @property
    def first_look(self) -> float:
        """Seconds before the first line is printed."""
        return 0.5 if self._live else 0.9 * PLAIN_SECONDS


def _live_line(out: Output) -> Progress:
    # Imported by those who have a terminal to draw on: it takes longer than many a command.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    class Title(ProgressColumn):
        """Gives way in a narrow terminal, as the bar does: the numbers stay whole."""

        def render(self, task: Task) -> Text:
            return Text(task.description, no_wrap=True, overflow="ellipsis")

    return Progress(
        SpinnerColumn(),
        Title(),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[words]}", markup=False),
        console=Console(file=out.stderr, no_color=not out.color_stderr, highlight=False),
        transient=True,
    )


class Told:
    """The progress callback of a transfer."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.first_look = meter.first_look

    def __call__(self, now: transfer.Moved, /) -> None:
        # The bytes of a large file count when all of it is read, those sent at once: the greater one moves.
        done = min(max(now.bytes, now.sent), now.bytes_total)
        self._meter.update(done=done, total=now.bytes_total, files=now.files, total_files=now.files_total)


def tell(meter: Meter) -> transfer.Progress:
    return Told(meter)


@contextmanager
def going_on() -> Iterator[None]:
    """Add to errors of a resumable transfer that running the command again continues it."""
    try:
        yield
    except Unavailable as error:
        again = "run the same command again; it continues where it stopped."
        error.hint = f"{error.hint.rstrip('.')}. Then {again}" if error.hint else f"When it is back, {again}"
        raise


def _speed_so_far(done: int, total: int, elapsed: float) -> TransferSpeed:
    if not done or elapsed < 0.5:
        return TransferSpeed()
    return TransferSpeed(done / elapsed, elapsed * (total - done) / done if total > done else None)


def progress_words(done: int, total: int, files: int, total_files: int, speed: TransferSpeed) -> str:
    """`1,200/3,000 files · 12.0 MB/30.0 MB · 4.0 MB/s · 4.5 s left`."""
    parts = [f"{files:,}/{total_files:,} files" if total_files else f"{files:,} files"]
    parts.append(f"{format_bytes(done)}/{format_bytes(total)}" if total else format_bytes(done))
    if speed.bytes_per_second is not None:
        parts.append(f"{format_bytes(int(speed.bytes_per_second))}/s")
    if speed.seconds_left is not None:
        parts.append(f"{format_seconds(speed.seconds_left)} left")
    return " · ".join(parts)
