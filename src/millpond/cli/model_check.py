"""`mill model check`: load and run a version before it is served."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from millpond.cli.command import command
from millpond.cli.follow import FAILED
from millpond.cli.model_arguments import Version
from millpond.cli.progress import Meter, tell
from millpond.cli.session import Session
from millpond.client import models as calls
from millpond.errors import BadRequest
from millpond.model.model import split_written
from millpond.model.model_check import CheckState
from millpond.model.quantity import format_bytes, parse_seconds
from millpond.wire.models import ModelCheck, ModelVersion

app = typer.Typer()


@command(app, "check")
def check(
    mill: Session,
    model: Version,
    on: Annotated[str | None, typer.Option("--on", metavar="TEMPLATE", help="Template or queue to run on.")] = None,
    no_environment: Annotated[
        bool, typer.Option("--no-environment", help="Use the machine's own Python, and install nothing.")
    ] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return when the check has started.")] = False,
    timeout: Annotated[str | None, typer.Option(metavar="TIME", help="Maximum time to wait, like 2h.")] = None,
    local: Annotated[
        bool, typer.Option("--local", help="Load it in a process on this machine; the result is not recorded.")
    ] = False,
) -> None:
    """Load a version in a job and run it on an input made from its signature; record time and memory.

    Endpoints serve versions that passed. Without --no-wait, the exit code is 0 for passed, 100 for failed.

    Example: mill model check chest-xray@3
    """
    name, version = split_written(model)
    if local:
        if on or no_environment or no_wait or timeout:
            raise BadRequest("Cannot combine --local with --on, --no-environment, --no-wait or --timeout.")
        _check_here(mill, calls.get_version(mill.api, mill.project, name, version))
        return
    started = calls.check_version(mill.api, mill.project, name, version, on=on, environment=not no_environment)
    assert started.check is not None
    if not no_wait:
        mill.out.note(f"Checking {name}@{started.version} in job {started.check.job}.")
        started = calls.wait_for_check(mill.api, started, timeout=parse_seconds(timeout) if timeout else None)
    _show(mill, started)


def check_rows(check: ModelCheck | None) -> list[tuple[str, Any]]:
    """Rows of a version for people."""
    if check is None:
        return [("check", "never checked")]
    if check.state is not CheckState.PASSED:
        return [("check", f"{check.state.value}{f': {check.error}' if check.error else ''}"), ("check job", check.job)]
    return [
        ("check", f"passed with {check.backend}"),
        ("check job", check.job),
        ("latency", f"{check.median_ms} ms median, {check.p95_ms} ms p95 of {check.runs} runs"),
        ("load time", f"{check.load_ms} ms"),
        ("memory", f"{format_bytes(check.memory or 0)} (at most {format_bytes(check.peak_memory or 0)})"),
    ]


def _show(mill: Session, found: ModelVersion) -> None:
    assert found.check is not None
    if mill.out.as_json:
        mill.out.json(found.model_dump(mode="json"))
    else:
        mill.out.shape(found, [("model", f"{found.model}@{found.version}"), *check_rows(found.check)])
    if found.check.state is CheckState.FAILED:
        raise typer.Exit(FAILED)


def _check_here(mill: Session, found: ModelVersion) -> None:
    """In a process of its own: code of the model runs with the rights of the user."""
    with tempfile.TemporaryDirectory(prefix="millpond-check-") as made:
        folder, report = Path(made, "model"), Path(made, "check.json")
        with Meter(mill.out, f"Downloading {found.model}@{found.version}") as meter:
            calls.download_version(mill.api, found, folder, progress=tell(meter))
        named = ["--name", found.model, "--version", str(found.version)]
        command = [sys.executable, "-m", "millpond.serve.check", str(folder), *named, "--json", str(report)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL)
        if not report.exists():
            raise BadRequest(
                f"The check of {found.model}@{found.version} ended with status {done.returncode}.",
                hint="Install the model server: pip install 'millpond[serve]'",
            )
        told = json.loads(report.read_text("utf-8"))
    if mill.out.as_json:
        mill.out.json(told)
    else:
        passed = f"passed: {told['median_ms']} ms median, {format_bytes(told['memory'] or 0)} of memory."
        said = passed if told["passed"] else f"failed: {told['error']}"
        mill.out.note(f"{found.model}@{found.version} {said}")
    if not told["passed"]:
        raise typer.Exit(FAILED)
