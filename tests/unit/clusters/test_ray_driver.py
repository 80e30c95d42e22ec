"""What starts the command of a job that joins a Ray cluster, where Ray is missing; and the choice of its node."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from millpond.agent import service_folder
from millpond.agent.service_folder import SERVICE
from millpond.clusters import ray_choice
from millpond.wire.desired import DesiredService

TOLD = {"kind": "ray", "role": "client", "scheduler": "192.0.2.7:6379"}
ASKED = DesiredService(joins="ray", files={"cluster.json": json.dumps(TOLD), "token": "t"})


@pytest.fixture
def placement(tmp_path: Path) -> Path:
    directory = tmp_path / "placements" / "p1"
    directory.mkdir(parents=True)
    service_folder.make(directory, ASKED)
    (tmp_path / "none" / "ray").mkdir(parents=True)
    (tmp_path / "none" / "ray" / "__init__.py").write_text("raise ImportError('no Ray here', name='ray')")
    return directory


def starts(placement: Path, *command: str) -> subprocess.Popen[str]:
    starter = service_folder.starter(placement, ASKED, (sys.executable,))
    env = {**os.environ, "RAY_ADDRESS": "ray://192.0.2.7:10001", "PYTHONPATH": str(placement.parents[1] / "none")}
    pipe = subprocess.PIPE
    return subprocess.Popen([*starter, *command], env=env, stdout=pipe, stderr=pipe, text=True)


def test_without_ray_the_command_reaches_the_cluster_by_ray_client(placement: Path) -> None:
    out, err = starts(placement, "sh", "-c", 'echo "$RAY_ADDRESS $RAY_AUTH_MODE"; exit 3').communicate(timeout=60)
    assert out == "ray://192.0.2.7:10001 token\n"
    assert "has no ray: programs reach the cluster by Ray Client." in err


def test_it_ends_as_its_command_does(placement: Path) -> None:
    for script, status in (("exit 3", 3), ("kill -9 $$", -9), ("exit 0", 0)):
        process = starts(placement, "sh", "-c", script)
        process.communicate(timeout=60)
        assert process.returncode == status
    process = starts(placement, "no-such-program")
    assert "Cannot start no-such-program: No such file or directory." in process.communicate(timeout=60)[1]
    assert process.returncode == 1


def test_sigterm_is_for_all_that_the_command_started(placement: Path) -> None:
    inner = "trap 'echo inner; exit 0' TERM; echo begun; while :; do sleep 0.05; done"
    process = starts(placement, "sh", "-c", f'sh -c "{inner}"; echo outer; exit 5')
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=60)
    assert "inner" in out and process.returncode == -signal.SIGTERM


def test_it_runs_in_the_python_that_the_command_names(tmp_path: Path) -> None:
    def python(command: str) -> str:
        return service_folder.starter(tmp_path, ASKED, (command, "x"))[0]

    assert (python("/opt/venv/bin/python3.11"), python("bash"), python("pythonic")) == (
        "/opt/venv/bin/python3.11", "python3", "python3",
    )  # fmt: skip
    assert service_folder.starter(tmp_path, DesiredService(), ("python",)) == ()
    assert service_folder.of_client(ASKED, tmp_path, "192.0.2.9")["MILL_ADDRESS"] == "192.0.2.9"
    assert (tmp_path / SERVICE).exists() is False


def test_the_hook_names_the_node_of_this_job_and_calls_the_one_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ray" / "_private").mkdir(parents=True)
    (tmp_path / "ray" / "__init__.py").touch()
    (tmp_path / "ray" / "_private" / "__init__.py").touch()
    (tmp_path / "ray" / "_private" / "services.py").write_text("def find_node_ids():\n    return {'head', 'mine'}\n")
    (tmp_path / "theirs.py").write_text("def hook(env):\n    return {**(env or {}), 'seen': True}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name == "ray" or name.startswith("ray.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setenv("MILL_RAY_NODE", "mine")
    assert ray_choice.hook(None) is None
    services = importlib.import_module("ray._private.services")
    assert services.find_node_ids() == {"mine"}
    monkeypatch.setenv("MILL_RAY_HOOK", "theirs.hook")
    assert ray_choice.hook({"pip": []}) == {"pip": [], "seen": True}
    for name in [name for name in sys.modules if name == "ray" or name.startswith("ray.")]:
        monkeypatch.delitem(sys.modules, name)
