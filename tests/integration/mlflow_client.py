"""A script of MLflow's own client, run in a process of its own by test_mlflow.py; prints what it has seen as JSON.

What it does is what people's scripts do; nothing of Millpond is imported.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

import mlflow  # noqa: E402
from mlflow import MlflowClient, MlflowException  # noqa: E402
from mlflow.entities import LoggedModelOutput, Metric, Param, RunTag, ViewType  # noqa: E402

client = MlflowClient()
seen: dict[str, Any] = {}


def refused(call: Callable[[], Any]) -> str:
    try:
        call()
    except MlflowException as error:
        return str(error.error_code)
    return "accepted"


def tracking() -> str:
    mlflow.set_experiment("first")
    with mlflow.start_run(run_name="one", tags={"a": "b"}) as run:
        mlflow.log_params({"lr": 0.1, "kind": "x"})
        for step in range(5):
            mlflow.log_metric("loss", 1 / (step + 1), step=step)
        mlflow.log_metrics({"nan": math.nan, "inf": math.inf}, step=2**40)
        mlflow.set_tags({"team": "vision", "mlflow.note.content": "# Why"})
        with mlflow.start_run(nested=True, run_name="child"):
            mlflow.log_metric("loss", 9)
        seen["changed param"] = refused(lambda: mlflow.log_param("lr", 0.2))
        artifacts()
    run_id: str = run.info.run_id
    client.log_batch(
        run_id, [Metric("b", float(n), 1000 + n, n) for n in range(1000)], [Param("p", "v")], [RunTag("t", "v")]
    )
    found = client.get_run(run_id)
    seen["run"] = [found.info.status, found.info.run_name, found.data.params, found.data.tags["mlflow.note.content"]]
    seen["metrics"] = {key: str(value) for key, value in found.data.metrics.items()}
    seen["history"] = [(one.step, one.value) for one in client.get_metric_history(run_id, "loss")]
    seen["long history"] = len(client.get_metric_history(run_id, "b"))
    seen["no history"] = client.get_metric_history(run_id, "nothing")
    return run_id


def artifacts() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sub").mkdir()
        (folder / "f.txt").write_text("hello")
        (folder / "sub" / "g.txt").write_text("deep")
        mlflow.log_artifact(str(folder / "f.txt"))
        mlflow.log_artifacts(name, "folder")
    mlflow.log_dict({"a": 1}, "d.json")


def reading(run_id: str) -> None:
    seen["files"] = [[one.path, one.is_dir, one.file_size] for one in client.list_artifacts(run_id)]
    seen["below"] = [one.path for one in client.list_artifacts(run_id, "folder")]
    seen["absent"] = client.list_artifacts(run_id, "nothing")
    downloaded = Path(client.download_artifacts(run_id, "folder"))
    seen["content"] = (downloaded / "sub" / "g.txt").read_text()
    number = client.get_experiment_by_name("first").experiment_id
    wanted = "metrics.loss < 0.5 and params.lr = '0.1' and tags.team LIKE 'vis%' and attributes.status = 'FINISHED'"
    seen["found"] = [one.info.run_name for one in client.search_runs([number], wanted, order_by=["metrics.loss DESC"])]
    children = client.search_runs([number], f"tags.mlflow.parentRunId = '{run_id}'")
    seen["children"] = [one.info.run_name for one in children]
    pages, token = [], None
    while True:
        page = client.search_runs([number], max_results=1, page_token=token)
        pages.append([one.info.run_name for one in page])
        token = page.token
        if not token:
            break
    seen["pages"] = pages
    seen["wrong filter"] = refused(lambda: client.search_runs([number], "metricz.a > 1"))
    seen["no run"] = refused(lambda: client.get_run("nobody00"))


def changing(run_id: str) -> None:
    client.delete_run(run_id)
    number = client.get_experiment_by_name("first").experiment_id
    binned = client.search_runs([number], run_view_type=ViewType.DELETED_ONLY)
    seen["deleted"] = [client.get_run(run_id).info.lifecycle_stage, [one.info.run_id for one in binned] == [run_id]]
    seen["log to deleted"] = refused(lambda: client.log_metric(run_id, "loss", 1.0))
    client.restore_run(run_id)
    client.set_terminated(run_id, "KILLED")
    client.update_run(run_id, name="renamed")
    client.delete_tag(run_id, "t")
    found = client.get_run(run_id)
    seen["changed"] = [found.info.status, found.info.run_name, "t" in found.data.tags]
    other = client.create_experiment("second", tags={"k": "v"})
    client.rename_experiment(other, "third")
    client.delete_experiment(other)
    seen["experiment"] = [client.get_experiment(other).lifecycle_stage, client.get_experiment("0").name]
    client.restore_experiment(other)
    client.set_experiment_tag(other, "q", "w")
    matching = client.search_experiments(filter_string="tags.q = 'w' and name LIKE 'th%'")
    seen["experiments"] = [[one.name, one.tags] for one in matching]
    seen["taken"] = refused(lambda: client.create_experiment("first"))
    seen["traces"] = refused(lambda: client.search_traces([other]))


def logged_models() -> None:
    """What autologging and `log_model` do, without a library that makes models."""
    with mlflow.start_run() as run, tempfile.TemporaryDirectory() as name:
        number = run.info.experiment_id
        model = client.create_logged_model(number, "net", run.info.run_id, tags={"a": "b"}, params={"lr": "1"})
        (Path(name) / "weights.bin").write_bytes(b"w")
        client.log_model_artifacts(model.model_id, name)
        client.finalize_logged_model(model.model_id, "READY")
        client.set_logged_model_tags(model.model_id, {"c": "d"})
        client.delete_logged_model_tag(model.model_id, "a")
        client.log_metric(run.info.run_id, "acc", 0.5, model_id=model.model_id)
        client.log_outputs(run.info.run_id, [LoggedModelOutput(model.model_id, 3)])
    (found,) = client.search_logged_models([number], filter_string="name = 'net'")
    seen["model"] = [str(found.status), found.tags, found.params, [[one.key, one.value] for one in found.metrics or []]]
    outputs = client.get_run(run.info.run_id).outputs.model_outputs
    seen["outputs"] = [[one.model_id == model.model_id, one.step] for one in outputs]
    files = client.list_logged_model_artifacts(model.model_id)
    seen["model files"] = [[one.path, one.is_dir, one.file_size] for one in files]
    seen["by name"] = [one.path for one in client.list_artifacts(run.info.run_id, "net")]
    loose = client.create_logged_model(number, "loose")
    client.delete_logged_model(loose.model_id)
    seen["deleted model"] = refused(lambda: client.get_logged_model(loose.model_id))


if __name__ == "__main__":
    made = tracking()
    reading(made)
    changing(made)
    logged_models()
    seen["id"] = made
    # The client itself prints to stdout.
    Path(os.environ["SEEN"]).write_text(json.dumps(seen))
    sys.exit(0)
