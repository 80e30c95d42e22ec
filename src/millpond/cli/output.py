"""What a command shows: data on stdout (JSON, a table on a terminal, tab-separated otherwise), words on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, BinaryIO, Protocol, TextIO, TypeVar

from millpond.cli.columns import drawn_column, fitting
from millpond.cli.report import json_text, printable, use_color
from millpond.cli.values import human, one_line, plain

Item = TypeVar("Item")
Column = tuple[str, Callable[[Item], Any]]

# A word about somebody who does not answer is said so often at most.
_WAITING_SECONDS = 10.0


class Document(Protocol):
    """A shape of `wire`, or a quick one."""

    def model_dump(self, *, mode: str) -> Any: ...


class Output:
    """Built once per command from its flags."""

    def __init__(
        self,
        *,
        as_json: bool = False,
        quiet: bool = False,
        no_color: bool = False,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
    ) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.stdout = stdout or sys.stdout
        self.stderr = stderr or sys.stderr
        self.color = use_color(self.stdout, no_color=no_color)
        self.color_stderr = use_color(self.stderr, no_color=no_color)
        # Where words go while a live line is drawn: above it.
        self.above: Callable[[str], None] | None = None
        self._is_silent = True
        self._waited_at = -_WAITING_SECONDS

    @property
    def raw(self) -> BinaryIO:
        """For bytes that are the data themselves, whatever they are: a file, a log."""
        self.stdout.flush()
        self._is_silent = False
        return self.stdout.buffer

    def finish(self) -> None:
        """At the end of a command that succeeded: a program that asked for JSON gets some, also when all is said."""
        if self.as_json and self._is_silent:
            self.json({})
        self.stdout.flush()

    @property
    def for_people(self) -> bool:
        return self.stdout.isatty() and not self.as_json

    def items(
        self, items: Iterable[Item], columns: Sequence[Column[Item]], *, empty: str, drop: Sequence[str] = ()
    ) -> None:
        """Print a list. `empty` says on stderr what to do when there is nothing.

        `drop` names the columns to leave out first, in order, where the terminal is too narrow for all.
        """
        found = list(items)
        if self.as_json:
            self.json({"items": [_document(item) for item in found]})
        elif not found:
            self.note(empty)
        elif self.for_people:
            self.table(found, columns, drop)
        else:
            for item in found:
                self.line("\t".join(plain(value(item)) for _, value in columns))

    def shape(self, shape: Document, fields: Sequence[tuple[str, Any]]) -> None:
        """One thing, as its wire shape or as lines of `name: value`; fields without a value are left out."""
        if self.as_json:
            self.json(_document(shape))
            return
        width = max((len(name) for name, _ in fields), default=0)
        for name, value in fields:
            if value is None or value in ("", []):
                continue
            if self.for_people:
                self.line(f"{name + ':':<{width + 1}} {human(value)}")
            else:
                self.line(f"{name}\t{plain(value)}")

    def json(self, document: Any) -> None:
        self.line(json_text(document, indent=2 if self.stdout.isatty() else None))

    def line(self, text: str) -> None:
        """A line of data, safe to look at."""
        self.verbatim(printable(text))

    def verbatim(self, text: str) -> None:
        """A line as it is, whatever it holds: of a log."""
        self._is_silent = False
        self.stdout.write(text + "\n")

    def fields(self, *values: str) -> None:
        """Values with tabs between them, on one line whatever they hold."""
        self.line("\t".join(map(one_line, values)))

    def note(self, text: str) -> None:
        """A word to the person; not data."""
        if not self.quiet:
            self._say(printable(text))

    def waiting(self, why: str) -> None:
        """A word to the person about who does not answer, now and then; from any thread."""
        now = time.monotonic()
        if now - self._waited_at >= _WAITING_SECONDS:
            self._waited_at = now
            self.note(f"{why.rstrip('.')}. Trying again …")

    def warn(self, text: str) -> None:
        """A word that even `--quiet` does not silence."""
        self._say(f"warning: {printable(text)}")

    def _say(self, text: str) -> None:
        if self.above is not None:
            self.above(text)
            return
        self.stderr.write(text + "\n")
        self.stderr.flush()

    def table(self, items: Sequence[Item], columns: Sequence[Column[Item]], drop: Sequence[str] = ()) -> None:
        # Imported by those who draw a table: it takes longer than many a command.
        from rich.console import Console  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        console = Console(file=self.stdout, force_terminal=self.color, highlight=False)
        drawn = [drawn_column(title, [value(item) for item in items]) for title, value in columns]
        kept = fitting(drawn, console.width, drop)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
        for column in kept:
            table.add_column(
                column.title, justify="right" if column.is_number else "left", no_wrap=not column.folds, overflow="fold"
            )
        for row in range(len(items)):
            # Text, not str: a name like "[bold]" is a name and no markup.
            table.add_row(*(Text(column.cells[row]) for column in kept))
        console.print(table)
        if left_out := [column.title for column in drawn if column not in kept]:
            self.note(f"Columns left out: {', '.join(left_out)}. Widen the terminal, or use --json.")


def _document(item: Any) -> Any:
    return item.model_dump(mode="json") if hasattr(item, "model_dump") else item
