"""`mill library test`: is a component what it says it is, and does its example work?"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from millpond.client.library.component_run import ComponentRun, missing_packages, run_component
from millpond.decide.flows.values import why_wrong
from millpond.errors import BadFormat, MillError
from millpond.library.catalog import load_component
from millpond.library.digest import RECORD, read_record, tree_digest
from millpond.model.component import REGISTER, Component
from millpond.model.flow import VALUE_TYPES, Param, Port

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_TAIL_LINES = 20
_TABLES = (".csv", ".parquet")


@dataclass(frozen=True, slots=True)
class ComponentCheck:
    """One thing that was looked at."""

    name: str
    state: str
    message: str = ""


def check_component(folder: Path, *, run_tests: bool = True) -> Iterator[ComponentCheck]:
    """Every check as it ends; one that cannot be made after another failed is left out."""
    try:
        component = load_component(folder)
    except BadFormat as error:
        yield ComponentCheck("schema", FAILED, error.message)
        return
    yield ComponentCheck("schema", PASSED)
    yield _result("files", _wrong_files(component, folder))
    yield _result("version", _wrong_version(component, folder))
    lacking = missing_packages(component, folder)
    if component.category == REGISTER:
        return
    if lacking:
        packages = ", ".join(lacking)
        yield ComponentCheck("example", SKIPPED, f"This Python lacks {packages}: pip install '{lacking[0]}'")
        return
    if component.example:
        yield _example(component, folder)
    if run_tests and list(folder.glob("tests/test_*.py")):
        yield _own_tests(folder)


def _result(name: str, problems: list[str]) -> ComponentCheck:
    return ComponentCheck(name, FAILED if problems else PASSED, " ".join(problems))


def _wrong_files(component: Component, folder: Path) -> list[str]:
    """Files that component.yaml names and that are not there."""
    environment = component.environment
    named = [environment.requirements, environment.lock, component.docs or "README.md"]
    named += [str(path) for path in component.example.get("inputs", {}).values()]
    return [f"{name} does not exist." for name in named if name and not (folder / name).exists()]


def _wrong_version(component: Component, folder: Path) -> list[str]:
    recorded = read_record(folder).get(component.version_text)
    if recorded is None or recorded == tree_digest(folder):
        return []
    return [
        f"The files differ from those that {RECORD} lists for {component.version_text}. Raise the version in "
        "component.yaml. If this version was never released, list it again: mill library test --record"
    ]


def _example(component: Component, folder: Path) -> ComponentCheck:
    inputs = {name: folder / str(path) for name, path in component.example.get("inputs", {}).items()}
    with tempfile.TemporaryDirectory(prefix="mill-component-") as work:
        try:
            ran = run_component(
                component, folder, inputs=inputs, params=component.example.get("params", {}), work=Path(work)
            )
        except MillError as error:
            return ComponentCheck("example", FAILED, f"{error.message} {error.hint or ''}".strip())
        if ran.problem:
            return ComponentCheck("example", FAILED, f"{ran.problem}\n{_tail(ran.log)}")
        wrong = [why for port in component.outputs.values() if (why := _wrong_output(port, ran))]
    return _result("example", wrong)


def _wrong_output(port: Port, ran: ComponentRun) -> str | None:
    """Why an output is not what was declared."""
    if port.name not in ran.outputs:
        return None if not port.required else f"Output {port.name} is missing."
    if port.type in VALUE_TYPES:
        return why_wrong(Param(port.name, port.type), ran.outputs[port.name])
    return _wrong_files_of(port, ran.path(port.name))


def _wrong_files_of(port: Port, path: Path) -> str | None:
    found: Any = list(path.iterdir()) if path.is_dir() else []
    if port.type == "image-folder" and not any(one.is_dir() for one in found):
        return f"Output {port.name} is not an image folder: it has no folder for a class."
    if port.type == "table" and not any(one.suffix in _TABLES for one in found):
        return f"Output {port.name} is not a table: it has no CSV or Parquet file."
    if port.type == "model" and not (path / "1").is_dir():
        return f"Output {port.name} is not a model: it has no folder 1."
    return None


def _own_tests(folder: Path) -> ComponentCheck:
    if importlib.util.find_spec("pytest") is None:
        return ComponentCheck("tests", SKIPPED, "pytest is not installed: pip install pytest")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", "--rootdir", ".", "tests"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode:
        return ComponentCheck("tests", FAILED, _tail(done.stdout + done.stderr))
    return ComponentCheck("tests", PASSED, lines[-1] if lines else "")


def _tail(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines()[-_TAIL_LINES:])
