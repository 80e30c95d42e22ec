"""A script of MLflow's own client that registers models and loads them, run in processes by test_mlflow_registry.py.

`python mlflow_registry_client.py make` registers, `… load` loads in a clean process. Nothing of Millpond is imported.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import mlflow  # noqa: E402
from mlflow import MlflowClient, MlflowException  # noqa: E402

NAME = "sum #1"
client = MlflowClient()
seen: dict[str, Any] = {}


class Sum(mlflow.pyfunc.PythonModel):  # type: ignore[misc, name-defined]
    def predict(self, context: Any, model_input: list[float], params: Any = None) -> float:
        return sum(model_input)


def refused(call: Callable[[], Any]) -> str:
    try:
        call()
    except MlflowException as error:
        return str(error.error_code)
    return "accepted"


def make() -> None:
    with mlflow.start_run() as run:
        mlflow.log_metric("acc", 0.75)
        info = mlflow.pyfunc.log_model(
            name="model", python_model=Sum(), registered_model_name=NAME, pip_requirements=[]
        )
    mlflow.register_model(f"runs:/{run.info.run_id}/model", NAME, tags={"from": "run"})
    mlflow.register_model(info.model_uri, NAME)
    client.set_registered_model_alias(NAME, "champion", 2)
    client.transition_model_version_stage(NAME, 3, "Production")
    client.update_model_version(NAME, 1, "the first")
    client.update_registered_model(NAME, "adds numbers")
    client.set_registered_model_tag(NAME, "team", "vision")
    found = client.get_registered_model(NAME)
    seen["model"] = [found.description, found.tags, found.aliases, sorted(one.version for one in found.latest_versions)]
    seen["versions"] = [
        [one.version, list(one.aliases), one.current_stage, one.description, one.tags, one.run_id == run.info.run_id]
        for one in client.search_model_versions(f"name = '{NAME}'", order_by=["version_number ASC"])
    ]
    seen["of run"] = len(client.search_model_versions(f"run_id = '{run.info.run_id}'"))
    seen["by tag"] = [one.version for one in client.search_model_versions("tags.`from` = 'run'")]
    seen["by name"] = [
        one.name for one in client.search_registered_models("name ILIKE 'SUM%' and tags.team = 'vision'")
    ]
    refusals(info.model_uri)
    copied = client.copy_model_version(f"models:/{NAME}/2", "copied")
    seen["copied"] = [copied.version, copied.source]
    client.rename_registered_model("copied", "other")
    client.delete_run(run.info.run_id)


def refusals(source: str) -> None:
    client.create_registered_model("second")
    seen["refused"] = {
        "taken": refused(lambda: client.create_registered_model("second")),
        "no model": refused(lambda: client.create_model_version("nothing", source)),
        "no version": refused(lambda: client.get_model_version(NAME, "99")),
        "no number": refused(lambda: client.get_model_version(NAME, "x")),
        "no alias": refused(lambda: client.get_model_version_by_alias(NAME, "nobody")),
        "no logged model": refused(lambda: client.create_model_version("second", "models:/m-0000")),
        "no stage": refused(lambda: client.transition_model_version_stage(NAME, 1, "Testing")),
        "local path": refused(lambda: client.create_model_version("second", "/etc/passwd")),
        "filter": refused(lambda: client.search_model_versions("colour = 'red'")),
        "order": refused(lambda: client.search_registered_models(order_by=["colour"])),
        "prompt": refused(lambda: client.register_prompt("p", "Hello")),
    }
    client.delete_registered_model("second")
    seen["refused"]["deleted"] = refused(lambda: client.get_registered_model("second"))


def load() -> None:
    """The run that made the models is deleted by now; versions keep their files."""
    for written in (f"{NAME}@champion", f"{NAME}/1", f"{NAME}/Production", f"{NAME}/latest", "other/1"):
        model = mlflow.pyfunc.load_model(f"models:/{written}")
        seen[written] = float(model.predict([1.0, 2.0]))


if __name__ == "__main__":
    {"make": make, "load": load}[sys.argv[1]]()
    # The client itself prints to stdout.
    Path(os.environ["SEEN"]).write_text(json.dumps(seen))
