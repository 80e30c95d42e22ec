"""How flows and runs are named on the command line: FILE, NAME[@VERSION], NAME#RUN."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from millpond.client.flows.flow_file import FlowFile, is_file_name, read_flow_file
from millpond.errors import BadRequest
from millpond.model.quantity import parse_seconds

FlowArgument = Annotated[
    str, typer.Argument(metavar="FILE|NAME[@VERSION]", help="Flow file (YAML or Python), or a flow of the project.")
]
RunArgument = Annotated[
    str, typer.Argument(metavar="NAME#RUN", help="Run of a flow, or its id. NAME alone: the newest run.")
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until the run ends, and show its steps.")]
TimeoutOption = Annotated[
    str | None, typer.Option("--timeout", metavar="TIME", help="With --wait: maximum time to wait, like 2h.")
]


@dataclass(frozen=True, slots=True)
class FlowName:
    """A flow of the project; without a version, its newest."""

    name: str
    version: int | None = None

    def __str__(self) -> str:
        return self.name if self.version is None else f"{self.name}@{self.version}"


def is_run(written: str) -> bool:
    return "#" in written and not is_file_name(written)


def file_or_name(written: str) -> FlowFile | FlowName:
    """A flow on this machine, or the name of one of the project."""
    return read_flow_file(Path(written)) if is_file_name(written) else flow_name(written)


def flow_name(written: str) -> FlowName:
    name, at, version = written.partition("@")
    if "#" in written:
        raise BadRequest(f"{written!r} is a run, not a flow.", hint=f"Name the flow: {written.partition('#')[0]}")
    if at and not version.isdecimal():
        raise BadRequest(f"{written!r} names no version.", hint="Write it as NAME@VERSION, like words@3.")
    return FlowName(name, int(version) if at else None)


def run_name(written: str) -> str:
    """NAME#NUMBER, an id or NAME, as the server takes it."""
    if is_file_name(written) or "@" in written:
        raise BadRequest(f"{written!r} is not a run.", hint="Name a run, like words#3. List them: mill flow runs")
    return written


@dataclass(frozen=True, slots=True)
class Waiting:
    """Whether to wait for a run, and for how many seconds; None: as long as it takes."""

    wait: bool
    timeout: float | None = None


def waiting(wait: bool, timeout: str | None) -> Waiting:
    """What --wait and --timeout say. To be read before anything is started."""
    if timeout is not None and not wait:
        raise BadRequest("--timeout is for --wait.", hint="Add --wait, or set `timeout` in the flow.")
    return Waiting(wait, parse_seconds(timeout) if timeout is not None else None)
