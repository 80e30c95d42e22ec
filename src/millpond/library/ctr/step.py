"""What a step of a flow is given and what it gives back.

Copied into every component, because a component's folder runs alone. Needs nothing but Python; what is logged goes to
the run of the job, and nowhere outside of one.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

try:
    import millpond
except ImportError:
    millpond = None  # type: ignore[assignment]


class Problem(Exception):
    """What the user can do something about: printed without a traceback."""


def params() -> SimpleNamespace:
    """The parameters: `params().epochs`."""
    return SimpleNamespace(**json.loads(Path(os.environ["MILL_PARAMS"]).read_text("utf-8")))


def given(name: str) -> Path | None:
    """Where an input lies; None for one that was left out."""
    path = os.environ.get("MILL_INPUT_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper())
    return Path(path) if path else None


def output(name: str) -> Path:
    """The folder of an output."""
    folder = Path(os.environ["MILL_OUTPUT"], name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def save_values(**values: Any) -> None:
    """Outputs that are values. Called again, it adds to them."""
    path = Path(os.environ["MILL_VALUES"])
    before = json.loads(path.read_text("utf-8")) if path.exists() else {}
    path.write_text(json.dumps(before | values), "utf-8")


def secret(name: str) -> str:
    """The value of the secret that a parameter names."""
    value = os.environ.get(name)
    if not value:
        raise Problem(f"Secret {name} is not set. Set it for the project: mill secret set {name}")
    return value


def log(function: str, *arguments: Any, **named: Any) -> Any:
    """Call `millpond.FUNCTION` for the run of this job: `log("log_metric", "loss", 0.5, step=1)`."""
    if millpond is not None and os.environ.get("MILL_RUN_ID"):
        return getattr(millpond, function)(*arguments, **named)
    return None


def say(text: str) -> None:
    print(text, flush=True)


def run(main: Callable[[], None]) -> None:
    """Run the step; a `Problem` becomes one line and exit code 1."""
    try:
        main()
    except Problem as problem:
        sys.exit(f"error: {problem}")
