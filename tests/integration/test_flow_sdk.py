"""Flows from Python: saved, run, read, and written as `millpond.flows.Flow`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

import millpond
from millpond.errors import BadRequest, Conflict, NotFound
from millpond.model.ids import new_id
from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until
from tests.integration.test_cli_flows import SCRIPT, write_flow


@pytest.fixture(autouse=True)
def _signed_in(shared_up: MillUp) -> Iterator[None]:
    with patch.dict(os.environ, environment(shared_up.home), clear=True):
        yield


def test_a_flow_is_saved_run_and_its_outputs_are_read(tmp_path: Path) -> None:
    name = f"sdk-{new_id(6)}"
    flow = millpond.Flow.save(write_flow(tmp_path, name))
    assert (flow.name, flow.version, [one.version for one in flow.versions()]) == (name, 1, [1])
    run = flow.run({"word": "a/b@c", "one.word": "pond"}, wait=True)
    assert run.state == "succeeded" and run.written == f"{name}#1"
    outputs = run.outputs("one")
    assert outputs["length"] == 4 and outputs["out"].read("word.txt") == b"pond"
    assert [one.path for one in outputs["out"].files()] == ["word.txt"]
    assert (run.outputs("each-1")["out"].path() / "word.txt").read_text() == "wheel"
    assert run.logs("each-0") == "saw mill\n"
    assert [one.written for one in millpond.Flow(name).runs()] == [f"{name}#1"]
    assert name in [one.name for one in millpond.Flow.all()]
    with pytest.raises(BadRequest, match="2 executions"):
        run.outputs("each")
    with pytest.raises(NotFound, match="no step"):
        run.logs("no")


def test_a_run_is_found_cancelled_and_retried(tmp_path: Path) -> None:
    name = f"sdk-{new_id(6)}"
    path = tmp_path / "flow.yaml"
    path.write_text(
        f"schema: millpond.flow/1\nname: {name}\nsteps:\n  ask: {{approval: {{message: Go on?}}}}\n"
        "  say: {command: [echo, hello], after: [ask]}\n"
    )
    millpond.Flow.save(path).run()
    run = millpond.FlowRun(f"{name}#1").cancel().wait()
    assert run.state == "cancelled"
    run.retry()
    wait_until(lambda: _is_approved(run), what="the approval is asked for")
    assert run.wait().state == "succeeded"
    assert run.refresh().logs("say") == "hello\n"


def test_a_script_runs_itself(tmp_path: Path) -> None:
    name = f"script-{new_id(6)}"
    path = tmp_path / "script.py"
    own = "if __name__ == '__main__':\n    print(flow.run({'n': 7}, wait=True).outputs('double'))\n"
    path.write_text(SCRIPT.replace("NAME", name) + own)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "{'double': 14}\n"


def _is_approved(run: millpond.FlowRun) -> bool:
    """False while the retried run has not come to its approval."""
    try:
        run.approve("ask", "yes")
    except Conflict:
        return False
    return True
