"""Flows written in Python: `@step` functions and a `Flow` object that compile to `flow.yaml`.

Importing a script runs nothing; `mill flow run ingest.py` compiles it, `mill flow export ingest.py` prints the YAML.
"""

from __future__ import annotations

from millpond.flows.flow import Flow as Flow
from millpond.flows.functions import Out as Out
from millpond.flows.functions import step as step
from millpond.flows.references import Dataset as Dataset
from millpond.flows.references import each as each

__all__ = ["Dataset", "Flow", "Out", "each", "step"]
