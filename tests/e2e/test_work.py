"""A job watched from its first line to the bin and back."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen

SCRIPT = """
import os, time, pathlib
import millpond
millpond.init()
millpond.log_params({"batch_size": 128})
print("\\033[32mgreen\\033[0m <b>not markup</b>", flush=True)
for step in range(20):
    millpond.log_metric("loss", 1 / (step + 1), step)
while not pathlib.Path(os.environ["GATE"]).exists():
    time.sleep(0.05)
print("the gate is open", flush=True)
pathlib.Path(os.environ["MILL_OUTPUT"], "model.txt").write_text("weights")
"""


@pytest.fixture
def job(mill: Callable[..., str], digits: str, tmp_path: Path, open_path: Path) -> tuple[str, Path]:
    """A job that waits until its gate (a file) is there: its id and the gate."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text(SCRIPT)
    gate = open_path / "gate"
    command = ("submit", "-q", "--data", digits, "-e", f"GATE={gate}", "--", sys.executable, "train.py")
    return mill(*command, cwd=folder).split()[-1], gate


def test_a_job_documents_itself_while_it_runs(screen: Screen, job: tuple[str, Path], digits: str) -> None:
    page = screen.page
    job_id, gate = job
    screen.open(f"/projects/default/jobs/{job_id}?tab=log")
    log = page.get_by_role("log")
    expect(log).to_contain_text("green <b>not markup</b>", timeout=60_000)
    expect(log.locator("span", has_text="green")).to_have_css("color", "rgb(0, 187, 0)")
    expect(page.get_by_text("running", exact=True).first).to_be_visible()
    page.get_by_role("tab", name="Metrics").click()
    chart = page.get_by_test_id("chart").filter(has_text="loss")
    expect(chart.get_by_role("group", name="Latest values")).to_contain_text("0.05", timeout=60_000)
    chart.locator(".u-over").hover()
    expect(chart.locator(".curve-tooltip")).to_contain_text(re.compile(r"step \d"))
    chart.get_by_role("button", name="Show loss as a table").click()
    expect(chart.get_by_role("row", name="step 19 0.05")).to_be_visible()
    page.get_by_role("tab", name="Overview").click()
    expect(page.get_by_role("table", name="Parameters")).to_contain_text("128")

    page.get_by_role("tab", name="Log").click()
    expect(page).to_have_url(re.compile("tab=log"))
    gate.touch()
    expect(log).to_contain_text("the gate is open", timeout=60_000)
    expect(page.get_by_text("succeeded", exact=True)).to_be_visible(timeout=60_000)
    page.get_by_role("tab", name="Overview").click()
    expect(page.get_by_test_id("ledger")).to_contain_text("Run")
    expect(page.get_by_test_id("ledger")).to_contain_text("Save")
    page.get_by_role("tab", name="Code & data").click()
    page.get_by_role("button", name="train.py").click()
    expect(page.get_by_role("region", name="Preview of train.py")).to_contain_text("import millpond")
    page.get_by_role("table", name="Data").get_by_role("link", name=re.compile(f"{digits}@")).click()
    expect(page.get_by_role("heading", name=digits)).to_be_visible()
    expect(page.get_by_role("link", name="labels.csv")).to_be_visible()

    screen.open("/")
    expect(page.get_by_role("region", name="Activity")).to_contain_text("succeeded")
    screen.open("/projects/default/datasets/.outputs")
    made = page.get_by_test_id("commit").first
    expect(made.locator(f"a[href$='/jobs/{job_id}']")).to_be_visible()
    made.get_by_role("link", name="files", exact=True).click()
    expect(page.get_by_role("link", name="model.txt")).to_be_visible()


def test_a_job_is_stopped_deleted_and_brought_back(screen: Screen, job: tuple[str, Path]) -> None:
    page = screen.page
    job_id, _ = job
    screen.open(f"/projects/default/jobs/{job_id}")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("cancelled", exact=True)).to_be_visible(timeout=60_000)
    name = page.get_by_role("heading", level=1).inner_text()
    page.get_by_role("link", name="Jobs", exact=True).first.click()
    page.get_by_role("button", name=f"Delete {name}", exact=True).click()
    row = page.get_by_role("table", name="Jobs").get_by_role("row", name=name)
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_be_visible()
    page.get_by_role("button", name=f"Delete {name}", exact=True).click()
    expect(row).to_have_count(0)
    page.get_by_role("switch", name="Bin").check(force=True)
    expect(page).to_have_url(re.compile("deleted=true"))
    page.get_by_role("button", name=f"Restore {name}", exact=True).click()
    page.get_by_role("switch", name="Bin").uncheck(force=True)
    expect(row).to_be_visible()


def test_a_job_is_submitted_from_the_page_and_run_again(screen: Screen, digits: str) -> None:
    page = screen.page
    screen.open("/jobs")
    page.get_by_role("button", name="New job").first.click()
    form = page.get_by_role("dialog")
    form.get_by_role("textbox", name="Command").fill("ls $MILL_DATA_DIGITS | wc -l")
    form.get_by_role("combobox", name="Add a dataset").click()
    page.get_by_role("option", name=digits, exact=True).click()
    expect(form.get_by_text("mill submit --data digits --no-code -- sh -c")).to_be_visible()
    form.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("button", name="Run again")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("succeeded", exact=True)).to_be_visible(timeout=30_000)
    page.get_by_role("tab", name="Log").click()
    expect(page.get_by_role("log")).to_contain_text("4")
    page.get_by_role("button", name="Run again").click()
    expect(form.get_by_role("list", name="What differs")).to_contain_text("data, same")
    form.get_by_role("textbox", name="Name").fill("once-more")
    expect(form.get_by_text("--name once-more")).to_be_visible()
    form.get_by_role("button", name="Run again").click()
    expect(page.get_by_role("heading", level=1, name="once-more")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Clone and edit").click()
    expect(form.get_by_role("textbox", name="Command")).to_have_value("ls $MILL_DATA_DIGITS | wc -l")
    form.get_by_role("textbox", name="Command").fill("echo 'not closed")
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_text("Unclosed quotation mark.")).to_be_visible()


@pytest.mark.long
def test_a_volume_is_added_and_removed(screen: Screen, tmp_path: Path) -> None:
    page = screen.page
    screen.open("/caches?tab=volumes")
    page.get_by_role("button", name="New volume").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill("second")
    form.get_by_label("Directory").fill(str(tmp_path / "nfs0"))
    form.get_by_role("button", name="Add").click()
    expect(form.get_by_role("alert")).to_contain_text("does not exist", timeout=60_000)
    (tmp_path / "nfs0").mkdir()
    form.get_by_role("button", name="Add").click()
    card = page.get_by_test_id("volume").filter(has_text="nfs0")
    expect(card).to_contain_text("connected", timeout=60_000)
    card.get_by_role("button", name="Remove second").click()
    form.get_by_label("Type second to confirm").fill("second")
    form.get_by_role("button", name="Remove").click()
    expect(card).to_have_count(0)
