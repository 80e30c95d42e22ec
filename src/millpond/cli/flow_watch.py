"""A run while it goes on: a live table on a terminal, a line for each change otherwise; its end as an exit code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from millpond.cli.follow import CANCELLED, FAILED, NOT_FINISHED
from millpond.cli.progress import PLAIN_SECONDS
from millpond.cli.session import Session
from millpond.client.flows.flow_steps import label, seconds, state_counts
from millpond.client.flows.runs import has_ended, wait_for_run
from millpond.model.flow_run import StepState
from millpond.model.quantity import format_seconds
from millpond.wire.flows import FlowRun, FlowStep

# More executions of one step are counted instead of named.
_MANY = 12
# States that say nothing to whoever waits.
_BETWEEN = ("waiting", "ready", "placed")
_STYLES = {
    "running": "blue", "succeeded": "green", "remembered": "green", "failed": "bold red", "cancelled": "yellow",
    "skipped": "dim", "waiting": "dim",
}  # fmt: skip


def watch_run(mill: Session, run: FlowRun, *, timeout: float | None = None) -> FlowRun:
    """Show the run until it has ended or the time (in seconds) is over. Ctrl-C leaves it as it is."""
    try:
        with _shown(mill) as seen:
            return wait_for_run(mill.api, run.project, run.id, timeout=timeout, seen=seen)
    except KeyboardInterrupt:
        mill.out.note(
            f"\n{run.written} goes on. Show it: mill flow show {run.written}   "
            f"Cancel it: mill flow cancel {run.written}"
        )
        raise


def end_with(mill: Session, run: FlowRun) -> None:
    """Print how the run ended, and exit with the matching code."""
    took = seconds(run.started_at, run.ended_at)
    after = f" after {format_seconds(took)}" if took is not None and run.ended_at else ""
    mill.out.note(f"{run.written} {_ended(run.state)}{after}. {run.reason}".rstrip())
    for step in run.steps:
        if step.state == StepState.FAILED.value and step.job:
            written = step.name if step.index is None else f"{step.name}-{step.index}"
            mill.out.note(f"  Log of {label(step)}: mill flow logs {run.written} {written}")
            break
    if code := exit_code(run):
        raise typer.Exit(code)


def exit_code(run: FlowRun) -> int:
    if not has_ended(run):
        return NOT_FINISHED
    return {"failed": FAILED, "cancelled": CANCELLED}.get(run.state, 0)


def where(step: FlowStep) -> str:
    """Where it runs, or where what is used instead was made."""
    if step.remembered_from:
        return f"from {step.remembered_from}"
    place = "/".join(dict.fromkeys(part for part in (step.site, step.compute, step.template) if part))
    return f"on {place}" if place else ""


def _ended(state: str) -> str:
    return f"was {state}" if state in ("cancelled", "skipped") else state


@contextmanager
def _shown(mill: Session) -> Iterator[Callable[[FlowRun], None]]:
    if mill.out.quiet:
        yield lambda run: None
    elif mill.out.stderr.isatty():
        with _live(mill) as seen:
            yield seen
    else:
        yield _Lines(mill)


class _Lines:
    """A line for every step that changed; of a step with many executions, now and then how many are how far."""

    def __init__(self, mill: Session, clock: Callable[[], float] = time.monotonic) -> None:
        self._mill = mill
        self._clock = clock
        self._told: dict[str, Any] = {}
        self._at: dict[str, float] = {}

    def __call__(self, run: FlowRun) -> None:
        if run.state == "queued" and self._told.get("") != run.reason:
            self._told[""] = run.reason
            self._mill.out.note(f"{run.written} queued: {run.reason}".rstrip(": "))
        for name, steps in by_step(run).items():
            if len(steps) > _MANY:
                self._count(name, steps)
            else:
                for step in steps:
                    self._tell(step)

    def _tell(self, step: FlowStep) -> None:
        key, now = label(step), (step.state, step.attempts)
        if step.kind == "dataset" or self._told.get(key) == now or step.state in _BETWEEN:
            if step.state == "waiting" and step.kind == "approval" and step.ready_at and self._told.get(key) != now:
                self._told[key] = now
                self._mill.out.note(f"{key} waits for an approval. {step.reason}".rstrip())
            return
        self._told[key] = now
        reason = f": {step.reason}" if step.reason and step.state in ("failed", "skipped", "queued") else ""
        self._mill.out.note(f"{key} {step.state} {where(step)}".rstrip() + reason)

    def _count(self, name: str, steps: list[FlowStep]) -> None:
        counts = state_counts(steps)
        ended = all(StepState(one.state).is_finished for one in steps)
        late = self._clock() - self._at.get(name, -PLAIN_SECONDS) >= PLAIN_SECONDS
        if self._told.get(name) != counts and (ended or late):
            self._told[name], self._at[name] = counts, self._clock()
            self._mill.out.note(f"{name}: {counted(steps)}")


def by_step(run: FlowRun) -> dict[str, list[FlowStep]]:
    found: dict[str, list[FlowStep]] = {}
    for step in run.steps:
        found.setdefault(step.name, []).append(step)
    return found


def counted(steps: list[FlowStep]) -> str:
    """`1,000: 12 running, 988 succeeded`."""
    return f"{len(steps):,}: " + ", ".join(f"{count:,} {state}" for state, count in state_counts(steps).items())


@contextmanager
def _live(mill: Session) -> Iterator[Callable[[FlowRun], None]]:
    # Imported by those who have a terminal to draw on: it takes longer than many a command.
    from rich.console import Console  # noqa: PLC0415
    from rich.live import Live  # noqa: PLC0415

    console = Console(file=mill.out.stderr, no_color=not mill.out.color_stderr, highlight=False)
    with Live(console=console, auto_refresh=False) as live:
        yield lambda run: live.update(_table(run), refresh=True)


def _table(run: FlowRun) -> Any:
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for title in ("STEP", "STATE", "TIME", "WHERE", ""):
        table.add_column(title, no_wrap=title != "", overflow="ellipsis")
    for name, steps in by_step(run).items():
        if len(steps) > _MANY:
            table.add_row(Text(name), Text(counted(steps)), "", "", "")
            continue
        for step in steps:
            took = seconds(step.started_at, step.ended_at) if step.kind != "dataset" else None
            reason = step.reason if step.state not in ("succeeded", "remembered") else ""
            table.add_row(
                Text(label(step)), Text(step.state, _STYLES.get(step.state, "")),
                Text(format_seconds(took) if took is not None else ""), Text(where(step)), Text(reason, "dim"),
            )  # fmt: skip
    return table
