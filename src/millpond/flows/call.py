"""Runs one `@step` function as the process of a step: `python -m millpond.flows.call SCRIPT FUNCTION`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from millpond.client.flows.local_step import variable
from millpond.flows.functions import OUT, StepFunction
from millpond.flows.script import load_script
from millpond.model.flow import VALUE_TYPES


def main(arguments: list[str]) -> None:
    script, name = arguments
    call(getattr(load_script(Path(script)), name), os.environ)


def call(what: StepFunction[..., Any], environment: Mapping[str, str]) -> None:
    """Call the function with its inputs and parameters, and write the values it returns."""
    takes = what.signature
    params = json.loads(Path(environment["MILL_PARAMS"]).read_text("utf-8"))
    given: dict[str, Any] = {name: Path(environment[variable(name)]) for name in takes.inputs}
    given |= {name: params[name] for name in takes.params if name in params}
    if takes.takes_out:
        given[OUT] = Path(environment["MILL_OUTPUT"])
    returned = what(**given)
    values = {name for name, kind in what.outputs.items() if kind in VALUE_TYPES}
    if returned is None and not values:
        return
    if not isinstance(returned, dict):
        sys.exit(
            f"Step {what.name} must return a dict with {', '.join(sorted(values))}, not {type(returned).__name__}."
        )
    if unknown := sorted(returned.keys() - values):
        sys.exit(f"Step {what.name} returned {unknown[0]!r}, which is not one of its value outputs.")
    Path(environment["MILL_VALUES"]).write_text(json.dumps(returned), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
