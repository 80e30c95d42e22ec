"""Flows on the page: drawn by hand, saved, run, looked at; two people at one flow; the library."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from millpond.testing.browser import Screen
from millpond.testing.up import MillUp
from millpond.testing.waiting import wait_until

from .conftest import Mill
from .test_reach import AXE, SCHEMES, violations

COUNT = 'ls $MILL_INPUT_DIGITS | wc -l > $MILL_OUTPUT/result/n.txt; echo "{\\"files\\": 4}" > $MILL_VALUES'
CHAIN = """# Made by hand.
schema: millpond.flow/1
name: chain
params:
  n: {type: int, default: 2, min: 1}   # how many
steps:
  make:
    command: [sh, -c, "echo made > $MILL_OUTPUT/result/a.txt"]
    outputs: {result: {type: directory}}   # files
  each:
    command: [sh, -c, "echo one"]
    each: {i: [1, 2, 3]}
    inputs: {result: "${steps.make.outputs.result}"}
  ask:
    approval: {role: admin, message: Go on?}
    after: [each]
"""


@pytest.fixture
def api(server: MillUp, mill: Mill) -> Iterator[httpx.Client]:
    mill("project", "list")
    with server.client() as client:
        yield client


def save(api: httpx.Client, name: str, text: str) -> None:
    api.put(f"/projects/default/flows/{name}", content=text).raise_for_status()


def node(page: Page, step: str) -> Locator:
    return page.locator(f".react-flow__node[data-id='{step}']")


def connect(page: Page, start: Locator, end: Locator) -> None:
    """Draw a line with the mouse."""
    one, other = start.bounding_box(), end.bounding_box()
    assert one and other
    page.mouse.move(one["x"] + one["width"] / 2, one["y"] + one["height"] / 2)
    page.mouse.down()
    page.mouse.move(one["x"] + 40, one["y"] + 20, steps=3)
    page.mouse.move(other["x"] + other["width"] / 2, other["y"] + other["height"] / 2, steps=5)
    page.mouse.up()


def port(page: Page, step: str, handle: str) -> Locator:
    return node(page, step).locator(f"[data-handleid='{handle}']")


def show(page: Page, view: str) -> None:
    page.get_by_role("radiogroup", name="View").locator("label", has_text=view).click()


def test_a_flow_is_drawn_saved_and_run(screen: Screen, digits: str) -> None:
    page = screen.page
    screen.open("/flows?project=default")
    page.get_by_role("link", name="New flow").first.click()
    expect(page.get_by_text("Drag a dataset here to begin")).to_be_visible()
    page.get_by_label("Name of the flow").fill("drawn")
    pane = page.locator(".react-flow__pane")
    page.get_by_role("button", name=f"Add {digits}", exact=True).drag_to(pane, target_position={"x": 140, "y": 90})
    form = page.get_by_role("complementary", name=f"Step {digits}")
    expect(form.get_by_label("Dataset")).to_have_value(f"{digits}@main")
    page.get_by_role("button", name="Add Command").drag_to(pane, target_position={"x": 200, "y": 320})

    form = page.get_by_role("complementary", name="Step step")
    form.get_by_label("Command", exact=True).fill(COUNT)
    form.get_by_label("Name of a new output").fill("files")
    form.get_by_label("Name of a new output").press("Enter")
    form.get_by_role("combobox", name="Type").last.click()
    page.get_by_role("option", name="int", exact=True).click()
    connect(page, port(page, digits, "out:"), port(page, "step", "in:+"))
    expect(node(page, "step").get_by_text(digits, exact=True)).to_be_visible()
    form.get_by_label("Name", exact=True).first.fill("count")
    form.get_by_label("Name", exact=True).first.press("Enter")
    expect(node(page, "count")).to_be_visible()
    expect(page.get_by_text("No problems")).to_be_visible()
    page.get_by_role("button", name="Save").click()

    expect(page.get_by_role("heading", level=1, name="drawn")).to_be_visible()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1, name="drawn #1")).to_be_visible()
    expect(page.get_by_text("2 of 2 steps done")).to_be_visible(timeout=60_000)
    node(page, "count").click()
    panel = page.get_by_role("complementary", name="Step count")
    expect(panel.get_by_role("region", name="Outputs")).to_contain_text("4")
    panel.get_by_role("link", name=re.compile(r"\.outputs@.*:result")).click()
    expect(page.get_by_role("link", name="n.txt")).to_be_visible()


@pytest.mark.long
def test_text_and_graph_stay_in_step_and_nothing_is_lost(screen: Screen, api: httpx.Client, digits: str) -> None:
    save(api, "chain", CHAIN)
    page = screen.page
    screen.open("/projects/default/flows/chain")
    page.get_by_role("button", name="Add Split an image folder").click()
    form = page.get_by_role("complementary", name="Step split")
    form.get_by_role("textbox", name="val_size").fill("2")
    expect(form.get_by_text("Must be at most 0.9.")).to_be_visible()
    page.get_by_role("button", name="Add Condition").click()
    expect(form.get_by_label("Only if")).to_be_focused()
    problems = page.get_by_role("list", name="Problems")
    expect(problems).to_contain_text("lacks the input 'data'")

    # What does not fit is refused where it was tried, with the reason.
    page.get_by_role("button", name="Arrange the steps").click()
    form.get_by_role("button", name="Close the form").click()
    page.get_by_role("button", name="Fit View").click()
    connect(page, port(page, "split", "out:train_files"), port(page, "make", "in:+"))
    expect(page.get_by_role("alert")).to_contain_text("train_files is a value (int), not files.")

    # A problem leads to its step, and to its line.
    problems.get_by_role("button", name=re.compile("lacks the input")).click()
    expect(page.get_by_role("complementary", name="Step split")).to_be_visible()
    problems.get_by_role("button", name=re.compile("^line")).first.click()
    text = page.get_by_label("YAML of the flow")
    expect(text).to_contain_text("# Made by hand.")
    expect(text).to_contain_text("# how many")
    expect(text).to_contain_text("component: split@1")
    expect(page.locator(".flow-yaml-problem").first).to_be_visible()

    # A text that is no YAML can be mended; the graph waits.
    text.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("broken: [\n")
    show(page, "Graph")
    expect(page.get_by_text("The text cannot be read as YAML")).to_be_visible()
    expect(node(page, "make")).to_be_visible()
    page.get_by_role("button", name="Undo (Ctrl+Z)").click()
    expect(page.get_by_text("The text cannot be read as YAML")).to_have_count(0)
    node(page, "split").click()
    page.keyboard.press("Delete")
    expect(node(page, "split")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(node(page, "split")).to_be_visible()
    page.keyboard.press("Control+Shift+z")
    expect(node(page, "split")).to_have_count(0)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("No new version: it does the same.")).to_be_visible()
    assert "# how many" in api.get("/projects/default/flows/chain").json()["text"]


@pytest.mark.long
def test_two_people_change_one_flow(screen: Screen, api: httpx.Client) -> None:
    save(api, "shared", CHAIN.replace("name: chain", "name: shared"))
    page = screen.page
    screen.open("/projects/default/flows/shared")
    page.get_by_role("button", name="Add Approval").click()
    expect(page.get_by_text("unsaved changes")).to_be_visible()
    save(api, "shared", CHAIN.replace("name: chain", "name: shared").replace("default: 2", "default: 3"))
    page.get_by_role("button", name="Save").click()
    notice = page.get_by_role("alert").filter(has_text="saved version 2 meanwhile")
    expect(notice).to_be_visible()
    notice.get_by_role("button", name="Show the differences").click()
    expect(page.get_by_test_id("text-diff")).to_contain_text("default: 3")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    notice.get_by_role("button", name="Keep mine").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Version 3 saved.")).to_be_visible()
    assert "default: 2" in api.get("/projects/default/flows/shared").json()["text"]

    # Leaving with unsaved changes asks first.
    page.get_by_role("button", name="Add Approval").click()
    page.once("dialog", lambda question: question.dismiss())
    page.get_by_role("link", name="Datasets", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="shared")).to_be_visible()
    page.once("dialog", lambda question: question.accept())
    page.get_by_role("link", name="Datasets", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Datasets")).to_be_visible()


@pytest.mark.long
def test_a_flow_is_made_by_keyboard_alone(screen: Screen, digits: str) -> None:
    page = screen.page
    screen.open("/projects/default/flows-new")
    show(page, "List")
    page.get_by_role("button", name=f"Add {digits}", exact=True).press("Enter")
    page.get_by_role("button", name="Add Split an image folder").press("Enter")
    form = page.get_by_role("complementary", name="Step split")
    source = form.get_by_role("combobox", name="data")
    source.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(source).to_have_value(digits)
    expect(page.get_by_text("No problems")).to_be_visible()
    show(page, "Graph")
    node(page, digits).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name=f"Step {digits}")).to_be_visible()


@pytest.mark.long
def test_runs_are_approved_compared_and_components_run(screen: Screen, api: httpx.Client, digits: str) -> None:
    save(api, "chain", CHAIN)
    page = screen.page
    runs = [api.post("/projects/default/flows/chain/runs", json={}).json()["id"] for _ in range(2)]
    for run in runs:
        screen.open(f"/projects/default/flow-runs/{run}?step=ask")
        page.get_by_role("button", name="Approve").click(timeout=60_000)
        expect(page.get_by_text("succeeded", exact=True).first).to_be_visible(timeout=60_000)
    page.get_by_role("tab", name="Timeline").click()
    page.get_by_role("button", name="Show executions of each").click()
    expect(page.get_by_role("button", name="each[2]")).to_be_visible()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("menuitem").first.click()
    expect(page.get_by_role("table", name="Durations")).to_contain_text("each")

    screen.open("/library?project=default")
    page.get_by_label("Search components").fill("image folder")
    page.get_by_role("link", name="Split an image folder").click()
    expect(page.get_by_role("table", name="Parameters")).to_contain_text("val_size")
    page.get_by_role("button", name="Run", exact=True).click()
    form = page.get_by_role("dialog")
    form.get_by_placeholder("dataset@branch").fill(f"{digits}@main")
    form.get_by_role("button", name="Start").click()
    expect(page.get_by_role("heading", level=1, name=re.compile("run-split #"))).to_be_visible()
    page.get_by_role("button", name="Cancel").or_(page.get_by_text("steps done")).first.wait_for()


@pytest.mark.long
def test_triggers_are_set_seen_and_fired(screen: Screen, api: httpx.Client) -> None:
    save(api, "timed", CHAIN.replace("name: chain", "name: timed"))
    page = screen.page
    screen.open("/projects/default/flows/timed")
    page.get_by_role("button", name="Settings").click()
    form = page.get_by_role("complementary", name="Settings of the flow")
    form.get_by_role("button", name="Triggers").click()
    form.get_by_role("button", name="Add a trigger").click()
    page.get_by_role("menuitem", name="Schedule").click()
    expect(form.get_by_text(re.compile("at 03:00")).last).to_be_visible()
    form.get_by_label("Cron").fill("0 25 * * *")
    form.get_by_label("Cron").press("Enter")
    expect(form.get_by_text("is not a cron expression")).to_be_visible()
    form.get_by_label("Cron").fill("30 4 * * 1")
    form.get_by_label("Cron").press("Enter")
    expect(form.get_by_text(re.compile("Monday.*04:30"))).to_have_count(5)
    form.get_by_role("button", name="Add a trigger").click()
    page.get_by_role("menuitem", name="Webhook").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Version 2 saved.")).to_be_visible()

    page.get_by_role("tab", name="Triggers").click()
    schedule = page.get_by_role("article", name="Schedule 30 4 * * 1 (UTC)")
    expect(schedule).to_contain_text("Next")
    schedule.get_by_role("button", name="Fire now").click()
    expect(page.get_by_role("table", name="Firings")).to_contain_text("timed#1")
    schedule.get_by_role("switch", name="Enabled").click(force=True)
    expect(schedule.get_by_role("switch", name="Enabled")).not_to_be_checked()
    page.get_by_role("article", name="Webhook start").get_by_role("button", name="Make its secret").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Make a secret").click()
    expect(dialog.get_by_text("The secret is shown only now")).to_be_visible()
    expect(dialog.get_by_text("X-Mill-Signature")).to_be_visible()


@pytest.mark.long
def test_no_screen_of_flows_breaks_the_rules_of_accessibility(screen: Screen, api: httpx.Client, digits: str) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed (npm ci in web/)")
    save(api, "chain", CHAIN)
    run = api.post("/projects/default/flows/chain/runs", json={}).json()["id"]
    path = f"/projects/default/flow-runs/{run}"
    wait_until(lambda: api.get(path).json()["steps"][-1]["started_at"] is not None)
    screens = {
        "/flows": "Flows",
        "/projects/default/flows-new": "New flow",
        "/projects/default/flows/chain": "chain",
        "/projects/default/flows/chain?tab=runs": "chain",
        "/projects/default/flows/chain?tab=versions": "chain",
        "/projects/default/flows/chain?tab=triggers": "chain",
        f"{path}?step=each": "chain",
        f"{path}?tab=steps&step=ask": "chain",
        f"{path}?tab=timeline": "chain",
        f"/projects/default/flows/chain/compare?a={run}&b={run}&all=true": "Compare runs of chain",
        "/library": "Library",
        "/projects/default/library/split": "Split an image folder",
    }
    page = screen.page
    page.emulate_media(reduced_motion="reduce")
    found = []
    for address, heading in screens.items():
        page.emulate_media(color_scheme="light")
        screen.open(address)
        page.get_by_role("heading", level=1, name=heading).wait_for()
        expect(page.get_by_label("Loading").locator("visible=true"), f"{address} is still loading").to_have_count(0)
        if address.endswith("/flows/chain"):
            _open_forms(page)
        page.evaluate(AXE.read_text())
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.locator(f"html[data-mantine-color-scheme={scheme}]").wait_for()
            found += [f"{address} ({scheme}): {said}" for said in violations(page)]
    assert not found, "\n\n".join(found)


def _open_forms(page: Page) -> None:
    """The form of a step with every part of it open."""
    node(page, "make").click()
    form = page.get_by_role("complementary", name="Step make")
    for part in reversed(form.locator("button[aria-expanded=false]").all()):
        part.click()
