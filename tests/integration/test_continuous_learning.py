"""The example `continuous-learning` on a real server, with real training; its packages are installed by the server."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import pytest

from millpond import FlowRun
from millpond.errors import NotFound
from millpond.testing.up import environment, mill_up
from millpond.testing.waiting import wait_until
from tests.integration.cli import Mill

EXAMPLE = Path(__file__).parents[2] / "examples" / "continuous-learning"


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_new_readings_make_a_better_candidate_and_bad_ones_do_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    with mill_up(tmp_path / "server") as up:
        mill = Mill(up, capsys, tmp_path)
        gold, readings = tmp_path / "gold", tmp_path / "readings"
        _make("gold", gold)
        _sync(mill, gold, "readings-gold")
        readings.mkdir()
        (readings / "README.txt").write_text("Readings of machines.")
        _sync(mill, readings, "readings")
        mill.ok("flow", "save", str(EXAMPLE / "flow.yaml"))
        candidates = []
        for number, kind in enumerate(("first", "more", "broken"), start=1):
            _make(kind, readings)
            _sync(mill, readings)
            run = _ended(mill, f"readings#{number}")
            assert run.state == "succeeded", run.reason
            candidates.append(mill.ok("model", "show", "readings@candidate", "--json").json["version"])
    assert candidates == [1, 2, 2]
    assert run.step("compare").outputs["better"] is False and run.step("register").state == "skipped"
    assert run.step("present").outputs["data"].startswith("default/.models.readings@")


def _make(kind: str, folder: Path) -> None:
    subprocess.run([sys.executable, str(EXAMPLE / "make_data.py"), kind, str(folder)], check=True, capture_output=True)


def _sync(mill: Mill, folder: Path, name: str | None = None) -> None:
    if name is not None:
        mill.ok("data", "init", name, cwd=folder)
    mill.ok("data", "sync", cwd=folder)


def _ended(mill: Mill, run: str) -> FlowRun:
    """With pauses: each look takes a part of the machine that trains."""
    with patch.dict(os.environ, environment(mill.server.home), clear=True):
        wait_until(lambda: _is_there(run), what=f"the start of {run}")
        return FlowRun(run).wait("15m")


def _is_there(run: str) -> bool:
    try:
        FlowRun(run)
    except NotFound:
        time.sleep(0.5)
        return False
    return True
