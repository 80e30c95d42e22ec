"""A search watched from its first trial to its end, and taken as the beginning of another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen
from tests.e2e.accessibility import assert_accessible

SCRIPT = """
import os, pathlib, sys, time
import millpond
with millpond.init() as run:
    run.log_metric("loss", float(sys.argv[2]) + 1, step=1)
    while not pathlib.Path(os.environ["GATE"]).exists():
        time.sleep(0.05)
    run.log_metric("loss", float(sys.argv[2]), step=2)
"""

FILE = """
schema: millpond.search/1
name: sweep
job:
  command: {python} train.py --lr {{lr}}
  env: {{GATE: {gate}}}
method: grid
parameters:
  lr: [0.5, 0.25]
objective: {{metric: loss, direction: minimize}}
parallel: 1
"""


@pytest.fixture
def search(mill: Callable[..., str], tmp_path: Path, open_path: Path) -> tuple[str, Path]:
    """A grid of two trials that wait for a gate (a file): its id and the gate."""
    folder = tmp_path / "code"
    folder.mkdir()
    gate = open_path / "gate"
    (folder / "train.py").write_text(SCRIPT)
    (folder / "search.yaml").write_text(FILE.format(python=sys.executable, gate=gate))
    return mill("search", "run", "search.yaml", cwd=folder).strip(), gate


def test_a_search_is_watched_paused_resumed_and_repeated(screen: Screen, search: tuple[str, Path]) -> None:
    page = screen.page
    search_id, gate = search
    screen.open(f"/projects/default/searches/{search_id}")
    state = page.locator(".page-header")
    expect(state).to_contain_text("running")
    # The value of a trial that runs is there before it ends.
    expect(page.get_by_role("region", name="Best loss so far").get_by_role("img")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Pause").click()
    expect(state).to_contain_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(state).to_contain_text("running")
    gate.touch()
    expect(state).to_contain_text("completed", timeout=60_000)
    expect(page.get_by_role("table", name="Best trial")).to_contain_text("lr=0.25")
    assert_accessible(page)

    page.get_by_role("tab", name="Trials").click()
    trials = page.get_by_role("table", name="Trials").get_by_role("row")
    expect(trials).to_have_count(3)
    trials.first.get_by_role("button", name="loss").click()
    expect(trials.nth(1)).to_contain_text("Trial 1")
    expect(trials.nth(1)).to_contain_text("best")
    page.get_by_role("tab", name="Parallel coordinates").click()
    page.get_by_role("switch", name="As a table").click()
    expect(page.get_by_role("table", name="Values by run")).to_contain_text("Trial 0")
    page.get_by_role("button", name="New search from this").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 combinations")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Trials").click()
    page.get_by_role("link", name="Trial 0").click()
    expect(page.get_by_role("region", name="Summary").get_by_role("link", name=search_id)).to_be_visible()
