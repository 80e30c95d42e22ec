"""`mill serve`: a version of a model, and a folder, served by a process that ends with a signal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from millpond.cli.serve import is_model
from millpond.model.ids import new_id
from millpond.testing.daemons import free_port
from millpond.testing.serving import write_python_model
from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

CODE = "class Model:\n    def predict(self, inputs):\n        return {'y': inputs['x'] * 2}\n"
CALL = json.dumps({"inputs": [{"name": "x", "shape": [2], "datatype": "INT32", "data": [1, 2]}]}).encode()


@contextmanager
def serving(arguments: Sequence[str], env: dict[str, str]) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "millpond", "serve", *arguments, "--port", str(port)]
    running = subprocess.Popen(command, env=env)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until(lambda: _is_ready(url) or running.poll() is not None)
        assert running.poll() is None
        yield url
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 0
    finally:
        running.kill()
        running.wait()


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/v2/health/ready") as answer:
            return answer.status == 200
    except (urllib.error.URLError, ConnectionError):
        return False


def infer(url: str, model: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/v2/models/{model}/infer", CALL) as answer:
        return json.loads(answer.read())


def test_a_version_and_a_folder_are_served(
    shared_up: MillUp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mill = Mill(shared_up, capsys, tmp_path)
    name = f"double-{new_id().lower()}"
    folder = write_python_model(tmp_path, "double", CODE)
    for _ in range(2):
        mill.ok("model", "register", name, "--from", str(folder))
    env = environment(shared_up.home)
    with serving([f"{name}@2"], env) as url:
        answer = infer(url, name)
        assert (answer["model_version"], answer["outputs"][0]["data"]) == ("2", [2, 4])
    with serving([str(folder)], env) as url:
        assert infer(url, "double")["outputs"][0]["data"] == [2, 4]
    assert "is not a folder" in mill("serve", "./nothing").err
    assert "nothing" in mill("serve", "nothing-of-that-name@1").err


def test_a_folder_is_one_model_or_many(tmp_path: Path) -> None:
    folder = write_python_model(tmp_path, "double", CODE)
    assert is_model(folder) and is_model(folder / "1") and not is_model(tmp_path)
