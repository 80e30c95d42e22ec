"""Python files of models, imported under names of their own."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from .base import Source


def import_model(source: Source) -> ModuleType:
    """The module of `model.py`; its neighbours can be imported by it, as in Triton."""
    for folder in (str(source.version_folder), str(source.folder)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    name = f"_model_{source.name}_{source.version}".replace(".", "_").replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, source.file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise source.refuse(f"{source.file.name}: {type(error).__name__}: {error}") from error
    return module
