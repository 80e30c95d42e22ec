"""Loads a Python script that describes a flow, and compiles it to the text of `flow.yaml`."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

from millpond.errors import BadRequest, Invalid
from millpond.flows.flow import Flow

# Not "__main__": a script may run its flow by hand below `if __name__ == "__main__"`.
_MODULE = "millpond_flow_script"


def compile_script(path: Path) -> str:
    """The YAML of the one flow that a script holds. Runs the script's own top level, as importing it does."""
    try:
        # What it prints is no part of the YAML that we print.
        with redirect_stdout(sys.stderr):
            module = load_script(path)
    except Exception as error:  # the user's own code may raise anything
        raise Invalid(
            f"Cannot load {path}: {type(error).__name__}: {error}", hint=f"Try: python {path.name}"
        ) from error
    flows = {id(one): one for one in vars(module).values() if isinstance(one, Flow)}
    if len(flows) != 1:
        what = "no flow" if not flows else f"{len(flows)} flows"
        raise BadRequest(f"{path} holds {what}.", hint="Assign exactly one: flow = Flow('NAME')")
    return next(iter(flows.values())).to_yaml()


def load_script(path: Path) -> ModuleType:
    """The script as a module; modules next to it can be imported."""
    if not path.is_file():
        raise FileNotFoundError(f"No file {str(path)!r}.")
    spec = importlib.util.spec_from_file_location(_MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    # Type hints are looked up in the module that holds them.
    sys.modules[_MODULE] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec.loader.exec_module(module)
    return module
