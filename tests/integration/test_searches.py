"""A search against a real server with an agent: trials are real jobs, from the file to the best."""

from __future__ import annotations

from pathlib import Path

import pytest

import millpond
from millpond.testing.up import MillUp
from tests.integration.cli import Mill

EXAMPLE = Path(__file__).parents[2] / "examples" / "search"


def test_from_the_file_to_the_best(
    shared_up: MillUp, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill = Mill(shared_up, capfd, tmp_path)
    text = (EXAMPLE / "search.yaml").read_text().replace("max_trials: 12", "max_trials: 3")
    (tmp_path / "search.yaml").write_text(text.replace("name: parabola", "name: parabola-e2e"))
    (tmp_path / "train.py").write_text((EXAMPLE / "train.py").read_text())
    ended = mill.ok("search", "run", "search.yaml", "--wait", "--json", cwd=tmp_path).json
    assert ended["state"] == "completed" and ended["trials"] == 3
    assert mill.ok("search", "best", "parabola-e2e", "--json").json["items"][0]["number"] == ended["best"][0]["number"]
    trials = mill.ok("search", "trials", "parabola-e2e", "--sort", "value", "--json").json["items"]
    assert trials[0]["number"] == ended["best"][0]["number"] and len({one["job"] for one in trials}) == 3
    assert "parabola-e2e" in mill.ok("search", "list").out
    assert "completed" in mill.ok("search", "show", "parabola-e2e").out
    run = mill.ok("run", "show", trials[0]["run"], "--json").json
    assert run["params"]["x"] == trials[0]["params"]["x"] and run["tags"]["search_id"] == ended["id"]

    again = mill.ok("submit", "grid-e2e", "--grid", "--no-code", "--json", "--", "echo", "--a", "1,2").json
    assert [one["values"] for one in again["parameters"]] == [[1, 2]]
    mill.ok("search", "cancel", again["id"])

    monkeypatch.setenv("MILL_HOME", str(shared_up.home))
    monkeypatch.chdir(tmp_path)
    started = millpond.search("search.yaml", name="sdk-e2e", server=shared_up.url)
    started.cancel()
    assert started.refresh().state.value == "cancelled"
