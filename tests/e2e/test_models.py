"""A model registered on the page of a run, named by an alias, compared, deleted and brought back."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen
from millpond.testing.up import MillUp, environment
from tests.e2e.accessibility import assert_accessible

SCRIPT = """
import millpond, pathlib
folder = pathlib.Path("weights")
folder.mkdir(exist_ok=True)
for name, accuracy in (("first", 0.8), ("second", 0.9)):
    (folder / "weights.bin").write_bytes(name.encode() * 1000)
    with millpond.init(name=name, params={"lr": accuracy / 10}) as run:
        run.log_metric("accuracy", accuracy)
        run.log_artifact(folder, "model")
        print(run.id)
"""


@pytest.fixture
def runs(server: MillUp, tmp_path: Path) -> list[str]:
    """Two runs with a folder `model` among their artifacts."""
    env = environment(server.home) | {"MILL_SERVER": server.url}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.split()


def test_a_model_from_a_run_to_the_bin_and_back(screen: Screen, mill: Callable[..., str], runs: list[str]) -> None:
    page = screen.page
    mill("model", "register", "chest", "--from", f"{runs[0]}:model", "--alias", "champion")
    screen.open(f"/projects/default/runs/{runs[1]}?tab=artifacts&path=model")
    page.get_by_role("button", name="Register as a model").click()
    form = page.get_by_role("dialog")
    form.get_by_role("combobox", name="Model").fill("chest")
    expect(form.get_by_text("The newest is 1.")).to_be_visible()
    form.get_by_role("button", name="Register", exact=True).click()

    expect(page.get_by_role("heading", name="chest version 2")).to_be_visible()
    expect(page.get_by_role("table", name="Metrics")).to_contain_text("0.9")
    expect(page.get_by_text("models:/chest/2")).to_be_visible()
    page.get_by_role("button", name="Set an alias of version 2").click()
    page.get_by_role("combobox", name="Alias").fill("champion")
    expect(page.get_by_text("Moves champion from version 1.")).to_be_visible()
    page.get_by_role("button", name="Move the alias").click()
    expect(page.get_by_text("models:/chest@champion")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("tab", name="Files").click()
    expect(page.get_by_role("table", name="Files")).to_contain_text("6.0 kB")
    page.get_by_role("tab", name="Lineage").click()
    expect(page.locator(".lineage-node").filter(has_text="second")).to_contain_text("Run")
    assert_accessible(page)
    page.get_by_text("List", exact=True).click()
    expect(page.get_by_role("table", name="Made from").get_by_role("link", name="second")).to_be_visible()

    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_role("table", name="Metrics")).to_contain_text("+0.1")
    expect(page.get_by_test_id("diff-sums")).to_contain_text("1 changed")
    assert_accessible(page)
    page.get_by_role("tab", name="Versions", exact=True).click()
    page.get_by_role("link", name="Version 1").click()
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page).to_have_url(re.compile(r"/models/chest$"))
    expect(page.get_by_role("link", name="Version 1")).to_have_count(0)
    page.get_by_role("tab", name="Deleted versions").click()
    page.get_by_role("button", name="Restore version 1").click()
    page.get_by_role("tab", name="Versions", exact=True).click()
    expect(page.get_by_role("link", name="Version 1")).to_be_visible()
    screen.open("/models")
    expect(page.get_by_role("table", name="Models")).to_contain_text("champion: 2")
