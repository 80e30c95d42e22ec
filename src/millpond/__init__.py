"""Millpond keeps datasets beside the compute. Scripts call what is offered here; the rest of the package may change."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from millpond.client.audits import audit_log as audit_log
    from millpond.client.cached import Cached as Cached
    from millpond.client.cached import cache as cache
    from millpond.client.checkpoint import checkpoint as checkpoint
    from millpond.client.cluster import Cluster as Cluster
    from millpond.client.dataset import Dataset as Dataset
    from millpond.client.endpoint import Endpoint as Endpoint
    from millpond.client.endpoint import deploy as deploy
    from millpond.client.exports import export_data as export_data
    from millpond.client.exports import have_data as have_data
    from millpond.client.exports import import_data as import_data
    from millpond.client.find import find as find
    from millpond.client.flows.flow import Flow as Flow
    from millpond.client.flows.flow import FlowRun as FlowRun
    from millpond.client.lineage import lineage as lineage
    from millpond.client.mirror import Mirror as Mirror
    from millpond.client.mirror import mirror as mirror
    from millpond.client.mirror import mirrors as mirrors
    from millpond.client.model import Model as Model
    from millpond.client.model import models as models
    from millpond.client.model import register_model as register_model
    from millpond.client.moving import move as move
    from millpond.client.notified import mark_notifications_read as mark_notifications_read
    from millpond.client.notified import notifications as notifications
    from millpond.client.recorded_run import RecordedRun as RecordedRun
    from millpond.client.recorded_run import compare_runs as compare_runs
    from millpond.client.recorded_run import get_run as get_run
    from millpond.client.rerun import rerun as rerun
    from millpond.client.run import Run as Run
    from millpond.client.run_import.importing import import_mlflow as import_mlflow
    from millpond.client.run_import.importing import import_tensorboard as import_tensorboard
    from millpond.client.run_tables import group_runs as group_runs
    from millpond.client.run_tables import runs as runs
    from millpond.client.searching import search as search
    from millpond.client.submitting import submit as submit
    from millpond.client.tracking import current_run as current_run
    from millpond.client.tracking import download_artifacts as download_artifacts
    from millpond.client.tracking import finish as finish
    from millpond.client.tracking import init as init
    from millpond.client.tracking import list_artifacts as list_artifacts
    from millpond.client.tracking import log_artifact as log_artifact
    from millpond.client.tracking import log_artifacts as log_artifacts
    from millpond.client.tracking import log_confusion_matrix as log_confusion_matrix
    from millpond.client.tracking import log_figure as log_figure
    from millpond.client.tracking import log_histogram as log_histogram
    from millpond.client.tracking import log_image as log_image
    from millpond.client.tracking import log_metric as log_metric
    from millpond.client.tracking import log_metrics as log_metrics
    from millpond.client.tracking import log_param as log_param
    from millpond.client.tracking import log_params as log_params
    from millpond.client.tracking import log_table as log_table
    from millpond.client.tracking import progress as progress
    from millpond.client.tracking import set_tag as set_tag
    from millpond.client.tracking import set_tags as set_tags
    from millpond.client.workspace import Workspace as Workspace

__all__ = [
    "Cached",
    "Cluster",
    "Dataset",
    "Endpoint",
    "Flow",
    "FlowRun",
    "Mirror",
    "Model",
    "RecordedRun",
    "Run",
    "Workspace",
    "__version__",
    "audit_log",
    "cache",
    "checkpoint",
    "compare_runs",
    "current_run",
    "deploy",
    "download_artifacts",
    "export_data",
    "find",
    "finish",
    "get_run",
    "group_runs",
    "have_data",
    "import_data",
    "import_mlflow",
    "import_tensorboard",
    "init",
    "lineage",
    "list_artifacts",
    "log_artifact",
    "log_artifacts",
    "log_confusion_matrix",
    "log_figure",
    "log_histogram",
    "log_image",
    "log_metric",
    "log_metrics",
    "log_param",
    "log_params",
    "log_table",
    "mark_notifications_read",
    "mirror",
    "mirrors",
    "models",
    "move",
    "notifications",
    "progress",
    "register_model",
    "rerun",
    "runs",
    "search",
    "set_tag",
    "set_tags",
    "submit",
]

# The modules of `millpond.client` that hold them; all others are in `tracking`.
_HOMES = {
    "Cached": "cached",
    "Cluster": "cluster",
    "Dataset": "dataset",
    "Endpoint": "endpoint",
    "Flow": "flows.flow",
    "FlowRun": "flows.flow",
    "Mirror": "mirror",
    "Model": "model",
    "RecordedRun": "recorded_run",
    "Run": "run",
    "Workspace": "workspace",
    "audit_log": "audits",
    "cache": "cached",
    "checkpoint": "checkpoint",
    "compare_runs": "recorded_run",
    "export_data": "exports",
    "deploy": "endpoint",
    "find": "find",
    "get_run": "recorded_run",
    "group_runs": "run_tables",
    "have_data": "exports",
    "import_data": "exports",
    "mark_notifications_read": "notified",
    "mirror": "mirror",
    "mirrors": "mirror",
    "models": "model",
    "move": "moving",
    "notifications": "notified",
    "register_model": "model",
    "import_mlflow": "run_import.importing",
    "import_tensorboard": "run_import.importing",
    "lineage": "lineage",
    "rerun": "rerun",
    "runs": "run_tables",
    "search": "searching",
    "submit": "submitting",
}


def __getattr__(name: str) -> Any:
    """Load the SDK when it is first used: the command line and the server import this package too."""
    if name not in __all__:
        raise AttributeError(f"module 'millpond' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"millpond.client.{_HOMES.get(name, 'tracking')}"), name)
    return found


def __dir__() -> list[str]:
    """What scripts call, and nothing else: for `dir(millpond)` and TAB in a notebook."""
    return list(__all__)
