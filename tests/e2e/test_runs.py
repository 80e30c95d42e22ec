"""The list of runs: columns, filter, order, groups, a saved view, and from it to a comparison."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from millpond.testing.browser import Screen
from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until
from tests.e2e.test_reach import AXE, SCHEMES, violations

RUNS = "/projects/default/runs"
EXPERIMENT = "listed on the page"
HOSTILE = "<img src=x onerror=document.title='taken'> " + "x" * 120


@pytest.fixture(scope="module", autouse=True)
def runs(server: MillUp) -> None:
    """Six runs: a higher learning rate makes a lower accuracy."""
    client = server.client()
    for place, lr in enumerate([0.1, 0.1, 0.03, 0.03, 0.01, 0.01]):
        wanted = {
            "name": HOSTILE if place == 0 else f"listed {place}", "experiment": EXPERIMENT,
            "params": {"lr": lr, "weird `key`, really": place}, "tags": {"team": "vision"},
        }  # fmt: skip
        run = client.post(RUNS, json=wanted).raise_for_status().json()["id"]
        told: dict[str, Any] = {
            "key": "acc",
            "steps": [0, 1],
            "values": [0.9, 0.9 - lr - place / 1000],
            "times": [0, 1],
        }
        loss = {**told, "key": "loss", "values": [2.0, lr]}
        body = {"writer": "test", "sequence": 0, "series": [told, loss], "ended": "succeeded"}
        client.post(f"{RUNS}/{run}/batch", json=body).raise_for_status()


def expect_names(page: Page, *wanted: str) -> None:
    expect(page.locator(".run-table tbody td.run-name a")).to_have_text(list(wanted))


def test_runs_are_narrowed_ordered_saved_and_compared(screen: Screen, tmp_path: Path) -> None:
    page = screen.page
    screen.open(f"/runs?project=default&experiment={EXPERIMENT}")
    expect_names(page, "listed 5", "listed 4", "listed 3", "listed 2", "listed 1", HOSTILE)
    expect(page.get_by_role("columnheader", name="acc")).to_be_visible()

    # A filter with a wrong word names it; names are completed while one types.
    box = page.get_by_label("Filter runs")
    box.fill("paramz.lr < 3")
    box.press("Enter")
    expect(page.locator(".wrong-word")).to_have_text("paramz")
    box.fill("")
    box.press_sequentially("params.l")
    page.get_by_role("option", name="params.lr", exact=True).click()
    box.press_sequentially("< 0.05")
    box.press("Enter")
    expect_names(page, "listed 5", "listed 4", "listed 3", "listed 2")

    # Columns and order.
    page.get_by_role("button", name="Columns").click()
    page.get_by_label("Search columns").fill("really")
    page.get_by_role("checkbox", name="weird `key`, really").set_checked(False)
    page.get_by_label("Search columns").fill("loss")
    page.get_by_role("dialog").get_by_text("min", exact=True).click()
    page.get_by_role("checkbox", name="loss").check()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="weird")).to_have_count(0)
    page.get_by_title("Sort by metrics.acc").click()
    expect(page.get_by_role("columnheader", name="acc")).to_have_attribute("aria-sort", "descending")
    expect_names(page, "listed 4", "listed 5", "listed 2", "listed 3")

    # Saved, and shown again from nothing.
    page.get_by_role("button", name="Views").click()
    page.get_by_role("menuitem", name="Save this view").click()
    page.get_by_label("Name").fill("Small rates")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Small rates", exact=True).wait_for()
    screen.open("/runs?project=default")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("menuitem", name="Small rates").click()
    expect_names(page, "listed 4", "listed 5", "listed 2", "listed 3")
    expect(page.get_by_role("columnheader", name="loss min")).to_be_visible()

    # By keyboard: two runs are selected and compared.
    page.locator("#main").focus()
    for key in "jxjx":
        page.keyboard.press(key)
    expect(page.get_by_role("group", name="Selected runs")).to_contain_text("2 runs selected")
    expect(page).to_have_url(re.compile("chosen="))
    with page.expect_download() as download:
        page.get_by_role("group", name="Selected runs").get_by_role("button", name="Export").click()
    assert Path(download.value.path()).read_text().count("listed") == 2
    page.keyboard.press("c")
    expect(page.get_by_role("heading", level=1, name="Compare 2 runs")).to_be_visible()


def test_runs_are_grouped_over_the_whole_list(screen: Screen) -> None:
    page = screen.page
    screen.open(f"/runs?project=default&experiment={EXPERIMENT}&group=params.lr")
    groups = page.locator(".run-group")
    expect(groups).to_have_count(3)
    expect(groups.filter(has_text="0.03")).to_contain_text("2 runs")
    expect(groups.filter(has_text="0.03")).to_contain_text("0.8675")  # the mean of 0.868 and 0.867
    page.get_by_role("button", name="Open 0.03").click()
    expect_names(page, "listed 3", "listed 2")
    if AXE.exists():
        page.emulate_media(reduced_motion="reduce")
        page.evaluate(AXE.read_text())
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.locator(f"html[data-mantine-color-scheme={scheme}]").wait_for()
            assert violations(page) == []


@pytest.mark.long
def test_several_runs_are_tagged_deleted_and_brought_back(screen: Screen) -> None:
    page = screen.page
    screen.open(f"/runs?project=default&experiment={EXPERIMENT}&filter=params.lr = 0.1")
    expect_names(page, "listed 1", HOSTILE)
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Tag").click()
    page.get_by_role("combobox", name="Tag").fill("reviewed")
    page.get_by_role("combobox", name="Value").fill("yes")
    page.get_by_role("button", name="Set tag").click()
    expect(page.get_by_text("2 runs are tagged.")).to_be_visible()
    screen.open(f"/runs?project=default&experiment={EXPERIMENT}&filter=tags.reviewed = 'yes'")
    expect_names(page, "listed 1", HOSTILE)
    page.get_by_label("Select all shown").check()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No matching runs.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect_names(page, "listed 1", HOSTILE)
    assert page.title() == "Runs · Millpond"


def test_a_new_job_with_several_values_is_a_grid(screen: Screen, server: MillUp, digits: str) -> None:
    page = screen.page
    screen.open("/runs?project=default")
    page.get_by_role("button", name="New job").click()
    form = page.get_by_role("dialog")
    form.get_by_role("textbox", name="Command").fill("true --rate {lr}")
    form.get_by_role("combobox", name="Experiment").fill("from a form")
    form.get_by_role("button", name="Add parameter").click()
    form.get_by_label("Name of parameter 1").fill("lr")
    form.get_by_label("Value of parameter 1").fill("0.1, 0.01")
    form.get_by_role("button", name="Add variable").click()
    form.get_by_label("Name of variable 1").fill("KIND")
    form.get_by_label("Value of variable 1").fill("a b")
    form.get_by_role("combobox", name="Add a dataset").click()
    page.get_by_role("option", name=digits, exact=True).click()
    expect(form.get_by_role("group", name="Data")).to_contain_text(re.compile("cached"))
    expect(form).to_contain_text("A grid of 2 jobs")
    expect(form).to_contain_text(
        f"--data {digits} --experiment 'from a form' -e 'KIND=a b' --grid --no-code -- true --rate 0.1,0.01"
    )
    form.get_by_role("button", name="Submit 2 jobs").click()
    expect(page).to_have_url(re.compile(r"/searches/\w+"))
    search = page.url.rpartition("/")[2]
    client = server.client()

    def learning_rates() -> list[float]:
        items = client.get(f"/projects/default/searches/{search}/trials").json()["items"]
        return sorted(trial["params"]["lr"] for trial in items if trial["run"])

    wait_until(lambda: learning_rates() == [0.01, 0.1], what="the jobs of the grid")
    runs = client.get("/runs", params={"filter": "experiment = 'from a form'"}).json()["items"]
    assert [(run["tags"]["search_id"], run["params"]["lr"]) for run in runs] in (
        [(search, 0.1), (search, 0.01)], [(search, 0.01), (search, 0.1)],
    )  # fmt: skip


def test_an_address_without_its_end_shows_the_list_of_the_project(screen: Screen) -> None:
    screen.open("/projects/default/runs")
    expect(screen.page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    expect(screen.page).to_have_url(re.compile(r"/runs\?project=default$"))
    screen.open("/projects/default/nothing")
    expect(screen.page.get_by_role("heading", name="Page not found")).to_be_visible()
