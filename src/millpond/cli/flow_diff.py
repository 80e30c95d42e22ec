"""`mill flow diff`: two versions of a flow, or two runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.flow_arguments import file_or_name, flow_name, is_run
from millpond.cli.flow_show import short_commits
from millpond.cli.session import Session
from millpond.client.flows.comparing import Pair, RunDiff, VersionDiff, compare_runs, compare_versions
from millpond.client.flows.flow_file import FlowFile
from millpond.client.flows.flows import flow_bundle, flow_files, get_flow
from millpond.client.flows.runs import get_run
from millpond.errors import BadRequest

app = typer.Typer()


@command(app, "diff")
def diff(
    mill: Session,
    first: Annotated[
        str, typer.Argument(metavar="NAME[@VERSION]|FILE|NAME#RUN", help="What to compare: a version, file or run.")
    ],
    second: Annotated[
        str | None,
        typer.Argument(metavar="[OTHER]", help="What to compare it with (default: the newest version, or run)."),
    ] = None,
) -> None:
    """Show how two versions of a flow differ, or two runs: parameters, code, data, outputs and times.

    Example: mill flow diff words#2 words#3
    """
    if is_run(first) or (second is not None and is_run(second)):
        other = second or first.partition("#")[0]
        if not is_run(first) or (second is not None and not is_run(second)):
            raise BadRequest("A run can be compared with a run only.", hint="Write both as NAME#RUN.")
        _show_runs(mill, first, other)
        return
    names = (first, second) if second is not None else _with_newest(first)
    (before_name, before), (after_name, after) = (_files(mill, one) for one in names)
    found = compare_versions(before, after, (before_name, after_name))
    _show_versions(mill, before_name, after_name, found)


def _with_newest(written: str) -> tuple[str, str]:
    """With the newest version of the flow: what saving a file would change, or what changed since a version."""
    found = file_or_name(written)
    return (found.require_flow().name, written) if isinstance(found, FlowFile) else (written, found.name)


def _files(mill: Session, written: str) -> tuple[str, Mapping[str, bytes]]:
    found = file_or_name(written)
    if isinstance(found, FlowFile):
        return str(found.path), flow_files(found.packed())
    version = found.version or get_flow(mill.api, mill.project, found.name).version
    files = flow_files(flow_bundle(mill.api, mill.project, flow_name(written).name, version))
    return f"{found.name}@{version}", files


def _show_versions(mill: Session, before: str, after: str, found: VersionDiff) -> None:
    if mill.out.as_json:
        mill.out.json({"from": before, "to": after, "text": found.text, "files": dict(found.files)})
        return
    if found.is_empty:
        mill.out.note(f"{before} and {after} are the same.")
    if found.text:
        mill.out.line(found.text)
    for path, what in found.files.items():
        mill.out.line(f"{what}: {path}")


def _show_runs(mill: Session, first: str, second: str) -> None:
    before, after = get_run(mill.api, mill.project, first), get_run(mill.api, mill.project, second)
    found = compare_runs(before, after)
    if mill.out.as_json:
        mill.out.json({"from": before.written, "to": after.written, **asdict(found)})
        return
    if not (found.fields or found.params or found.steps):
        mill.out.note(f"{before.written} and {after.written} are the same.")
    mill.out.line(f"{before.written} → {after.written}")
    for line in _run_lines(found):
        mill.out.line(short_commits(line) if mill.out.for_people else line)


def _run_lines(found: RunDiff) -> list[str]:
    lines = [*_lines(found.fields, ""), *_lines(found.params, "parameter ")]
    for step in found.steps:
        label = step.name if step.index is None else f"{step.name}[{step.index}]"
        lines += [label, *_lines(step.fields, "  "), *_lines(step.params, "  parameter ")]
        lines += [*_lines(step.inputs, "  input "), *_lines(step.outputs, "  output ")]
    return lines


def _lines(pairs: Mapping[str, Pair], before: str) -> list[str]:
    return [f"{before}{name}: {_word(one)} → {_word(other)}" for name, (one, other) in pairs.items()]


def _word(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
