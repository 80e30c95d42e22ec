"""Quotas, templates, queues, and who has which GPUs, as their pages show them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen
from millpond.testing.up import MillUp, environment
from millpond.testing.waiting import wait_until

from .conftest import Mill


@pytest.fixture
def gpu_node(server: MillUp, mill: Mill, tmp_path: Path) -> Iterator[str]:
    """A second machine with four GPUs, for every project; gone afterwards."""
    token = tmp_path / "token"
    token.write_text(mill("compute", "token", "--site", "local"))
    command = [
        sys.executable, "-m", "millpond", "agent", "--server", server.url, "--token-file", str(token),
        "--site", "local", "--state-dir", str(tmp_path / "agent"), "--node", "dgx", "--gpus", "4", "--cpus", "8",
        "--memory", "16GB",
    ]  # fmt: skip
    with (tmp_path / "agent.log").open("wb") as log:
        agent = subprocess.Popen(command, env=environment(server.home), stdout=log, stderr=log)
    wait_until(lambda: "dgx" in mill("compute", "list"), within=60, what="the second machine")
    mill("compute", "trust", "dgx", "--all")
    try:
        yield "dgx"
    finally:
        agent.terminate()
        agent.wait(60)
        mill("compute", "detach", "dgx", "--force", "--yes")


def test_a_project_is_made_changed_and_deleted(screen: Screen) -> None:
    page = screen.page
    screen.open("/projects")
    page.get_by_role("button", name="New project").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill("speech")
    form.get_by_label("Quota (GPUs)").fill("4")
    form.get_by_label("Interactive time limit").fill("12h")
    expect(form.get_by_text("mill project create speech --quota 4 --interactive-time 12h")).to_be_visible()
    form.get_by_role("button", name="Create").click()
    row = page.get_by_role("table", name="Projects").get_by_role("row").filter(has_text="speech")
    expect(row).to_contain_text("4")
    row.get_by_role("button", name="Edit speech").click()
    form.get_by_label("Limit (GPUs)").fill("6")
    form.get_by_label("Over-quota").uncheck(force=True)
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    expect(row).to_contain_text("no")
    row.get_by_role("link", name="speech").click()
    expect(page.get_by_text("quota 4 · limit 6")).to_be_visible()
    page.get_by_role("button", name="Delete speech").click()
    page.get_by_label("Type speech to confirm").fill("speech")
    page.get_by_role("button", name="Delete it").click()
    expect(page).to_have_url(re.compile("/projects$"))
    expect(row).to_have_count(0)


@pytest.mark.long
def test_a_job_runs_on_a_queue_of_templates(screen: Screen) -> None:
    page = screen.page
    form = page.get_by_role("dialog")
    for name in ("small", "large"):
        screen.open("/templates")
        page.get_by_role("button", name="New template").first.click()
        form.get_by_label("Name").fill(name)
        form.get_by_label("CPUs").fill("1")
        form.get_by_role("button", name="Create").click()
        expect(page.get_by_role("table", name="Templates")).to_contain_text(name)
    screen.open("/queues")
    page.get_by_role("button", name="New queue").first.click()
    form.get_by_label("Name").fill("burst")
    for name in ("large", "small"):
        form.get_by_role("combobox", name="Template").last.click()
        page.get_by_role("option", name=name).click()
        if name == "large":
            form.get_by_role("button", name="Add a template").click()
    form.get_by_role("button", name="Move small up").click()
    form.get_by_label("Patience").first.fill("10m")
    expect(form.get_by_text("mill queue create burst small:10m large")).to_be_visible()
    form.get_by_role("button", name="Create").click()
    expect(page.get_by_role("table", name="Queues")).to_contain_text("small wait 10 m→ large")

    screen.open("/jobs")
    page.get_by_role("button", name="New job").first.click()
    form.get_by_role("textbox", name="Command").fill("true")
    form.get_by_role("combobox", name="Run on").click()
    page.get_by_role("option", name="burst").click()
    expect(form.get_by_text("mill submit --on burst --no-code -- true")).to_be_visible()
    form.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(re.compile("/jobs/"))
    expect(page.get_by_text("succeeded", exact=True)).to_be_visible(timeout=60_000)
    expect(page.get_by_text("burst (small)")).to_be_visible()

    screen.open("/queues")
    page.get_by_role("button", name="Remove burst").click()
    form.get_by_label("Type burst to confirm").fill("burst")
    form.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("mill queue create burst gpu-real:10m cloud")).to_be_visible()


def test_the_cluster_is_seen_at_a_glance(screen: Screen, mill: Mill, gpu_node: str) -> None:
    page = screen.page
    screen.open("/shares")
    cluster = page.get_by_test_id("cluster")
    expect(cluster).to_contain_text("0 / 4")
    mill("submit", "-q", "trains", "-g", "3", "--", "sleep", "1000")
    mill("submit", "-q", "waits", "-g", "2", "--", "sleep", "1000")
    # No reload: what is placed and what waits arrives by the event stream.
    expect(cluster).to_contain_text("3 / 4", timeout=60_000)
    shares = page.get_by_role("table", name="Shares of projects")
    expect(shares.get_by_role("row").filter(has_text="default")).to_contain_text("2 GPUs in 1 job")
    expect(page.get_by_test_id("chart")).to_contain_text("Allocated GPUs by project")
    page.get_by_text("Week", exact=True).click()
    expect(page).to_have_url(re.compile("range=week"))
    page.get_by_role("tab", name="Running jobs").click()
    running = page.get_by_role("table", name="Running jobs").get_by_role("row").filter(has_text="trains")
    expect(running).to_contain_text("dgx")
    page.get_by_role("tab", name="Pending jobs").click()
    pending = page.get_by_role("table", name="Pending jobs").get_by_role("row").filter(has_text="waits")
    expect(pending).to_contain_text("no room is free")
    # The job's own page says which rule holds it back, and who has what it needs.
    pending.get_by_role("link", name="waits").click()
    why = page.get_by_role("region", name="Why it is queued")
    expect(why).to_contain_text("Rule: order")
    holders = why.get_by_role("table", name="Jobs that hold what it needs")
    expect(holders.get_by_role("row").filter(has_text="trains")).to_contain_text("3")
    expect(page.get_by_role("table", name="Events")).to_contain_text("Submitted by admin")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Suspend").click()
    expect(page.get_by_text("suspended", exact=True).first).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Resume").click()
    expect(why).to_contain_text("Rule: order", timeout=60_000)
    page.go_back()
    page.get_by_role("tab", name="Nodes").click()
    expect(page).to_have_url(re.compile("tab=nodes"))
    node = page.get_by_role("table", name="Nodes").get_by_role("row").filter(has_text="dgx")
    expect(node).to_contain_text("3 of 4")
    mill("stop", "waits", "trains")
    expect(node).to_contain_text("0 of 4", timeout=60_000)
