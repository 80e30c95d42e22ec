"""Tells Ray's driver which of the nodes on its machine is the one beside it (`ray_driver.py`).

Ray takes any node that it finds there, and prefers the head; those of other jobs have files that this one cannot reach,
and may end before it does. `ray.init()` calls what `RAY_RUNTIME_ENV_HOOK` names before it looks for one.
"""

from __future__ import annotations

import importlib
import os
from typing import Any


def hook(runtime_env: Any) -> Any:
    node = os.environ.get("MILL_RAY_NODE")
    if node:
        services = importlib.import_module("ray._private.services")
        services.find_node_ids = lambda: {node}  # type: ignore[attr-defined]
    module, _, function = os.environ.get("MILL_RAY_HOOK", "").rpartition(".")
    return getattr(importlib.import_module(module), function)(runtime_env) if module else runtime_env
