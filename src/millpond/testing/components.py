"""Runs a component in its own tests, as a step of a flow would run it.

def test_it_greets(tmp_path):
    ran = run(HERE.parent, work=tmp_path, params={"who": "Ada"})
    assert ran.outputs == {"text": "Hello, Ada"}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.client.library.component_run import ComponentRun, run_component
from millpond.library.catalog import load_component


def try_run(
    folder: Path, *, work: Path, inputs: Mapping[str, Path] | None = None, params: Mapping[str, Any] | None = None
) -> ComponentRun:
    """Run the component to its end, however that is."""
    return run_component(load_component(folder), folder, inputs=inputs or {}, params=params or {}, work=work)


def run(
    folder: Path, *, work: Path, inputs: Mapping[str, Path] | None = None, params: Mapping[str, Any] | None = None
) -> ComponentRun:
    """Run the component; an AssertionError with its log if it failed."""
    ran = try_run(folder, work=work, inputs=inputs, params=params)
    assert not ran.problem, f"{ran.problem}\n{ran.log}"
    return ran
