"""MLflow's own client with files that it sends and fetches in parts, run by test_mlflow_artifacts.py."""

from __future__ import annotations

import json
import os
import random
import tempfile
from pathlib import Path

import mlflow
from mlflow import MlflowClient
from mlflow.artifacts import download_artifacts
from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

client = MlflowClient()
content = random.Random(7).randbytes(5_000_000)

with mlflow.start_run() as run, tempfile.TemporaryDirectory() as name:
    large = Path(name) / "large 1.bin"
    large.write_bytes(content)
    mlflow.log_artifact(str(large), "deep/er")
    mlflow.log_artifact(str(large))
    listed = [[one.path, one.file_size] for one in client.list_artifacts(run.info.run_id)]
    fetched = Path(download_artifacts(run_id=run.info.run_id, artifact_path="deep/er/large 1.bin")).read_bytes()
    store = get_artifact_repository(run.info.artifact_uri)
    store.delete_artifacts("deep")
    left = [one.path for one in client.list_artifacts(run.info.run_id)]
Path(os.environ["SEEN"]).write_text(json.dumps({"listed": listed, "same": fetched == content, "left": left}))
