"""Everybody can use the page: by keyboard, in both colour schemes, with a screen reader, in many tabs."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from millpond.testing.browser import Screen
from millpond.testing.up import MillUp, mill_up
from tests.e2e.accessibility import AXE, SCHEMES, violations

MAIN_SCREENS = {
    "/": "Home",
    "/datasets": "Datasets",
    "/projects/default/datasets/digits": "digits",
    "/projects/default/datasets/digits?tab=files&file=README.md": "digits",
    "/caches": "Caches",
    "/jobs": "Jobs",
    "/shares": "Queue & shares",
}
OTHER_SCREENS = {
    "/caches?tab=files": "Caches",
    "/caches?tab=volumes": "Caches",
    "/caches?tab=branches": "Caches",
    "/caches?tab=evictions": "Caches",
    "/caches/local?tab=commits": "local",
    "/caches/local?tab=limits": "local",
    "/projects/default/datasets/digits?tab=settings": "digits",
    "/projects/default/datasets/digits?tab=lineage": "digits",
    "/projects/default": "default",
    "/projects/default?tab=jobs": "default",
    "/projects/default?tab=members": "default",
    "/projects/default?tab=secrets": "default",
    "/jobs?deleted=true": "Bin",
    "/projects/default/datasets/digits?tab=files&file=labels.csv": "digits",
    "/projects/default/datasets/digits?tab=files&file=page.html": "digits",
    "/projects/default/datasets/digits?tab=diff": "digits",
    "/projects/default/datasets/digits?tab=refs": "digits",
    "/projects/default/datasets/digits?tab=commit&ref=main": "digits",
    "/datasets?deleted=true": "Bin",
    "/runs": "Runs",
    "/models": "Models",
    "/searches": "Searches",
    "/models?deleted=true": "Deleted models",
    "/caches/local": "local",
    "/topology": "Topology",
    "/compute": "Compute",
    "/compute/local": "local",
    "/shares?tab=running": "Queue & shares",
    "/shares?tab=pending": "Queue & shares",
    "/shares?tab=nodes": "Queue & shares",
    "/templates": "Templates",
    "/queues": "Queues",
    "/projects": "Projects",
    "/sources": "Sources and mirrors",
    "/sources?tab=connections": "Sources and mirrors",
    "/tokens": "Tokens",
    "/users": "Users",
    "/audit": "Audit",
    "/server": "Server",
}


@pytest.mark.parametrize("screens", [MAIN_SCREENS, pytest.param(OTHER_SCREENS, marks=pytest.mark.long)])
def test_no_screen_breaks_the_rules_of_accessibility(screen: Screen, digits: str, screens: dict[str, str]) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed (npm ci in web/)")
    page = screen.page
    page.emulate_media(reduced_motion="reduce")
    found = []
    for path, heading in screens.items():
        page.emulate_media(color_scheme="light")
        screen.open(path)
        page.get_by_role("heading", level=1, name=heading).wait_for()
        expect(page.get_by_label("Loading").locator("visible=true"), f"{path} is still loading").to_have_count(0)
        page.evaluate(AXE.read_text())
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            page.locator(f"html[data-mantine-color-scheme={scheme}]").wait_for()
            found += [f"{path} ({scheme}): {said}" for said in violations(page)]
    assert not found, "\n\n".join(found)


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "button"),
    [
        ("/jobs", "New job"),
        ("/projects", "New project"),
        ("/projects", "Edit default"),
        ("/compute", "New elastic compute"),
        ("/templates", "New template"),
        ("/queues", "New queue"),
        ("/caches", "New volume"),
        ("/datasets", "New Dataset"),
        ("/users", "New user"),
        ("/searches", "New search"),
        ("/sources", "New mirror"),
    ],
)
def test_no_form_breaks_the_rules_of_accessibility(screen: Screen, digits: str, path: str, button: str) -> None:
    page = screen.page
    page.emulate_media(reduced_motion="reduce", color_scheme="light")
    screen.open(path)
    page.get_by_role("button", name=button).first.click()
    form = page.get_by_role("dialog")
    form.wait_for()
    for part in form.locator("button[data-accordion-control]").all():
        part.click()
    page.evaluate(AXE.read_text())
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        page.locator(f"html[data-mantine-color-scheme={scheme}]").wait_for()
        assert violations(page) == [], f"{path} {button} ({scheme})"


def test_the_keyboard_reaches_everything(screen: Screen, digits: str) -> None:
    page = screen.page
    screen.open("/")
    page.get_by_role("heading", level=1, name="Home").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.get_by_role("heading", level=1, name="Datasets")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Search datasets")).to_be_focused()
    # No single key does anything while somebody types.
    page.keyboard.type("gj?")
    expect(page).to_have_url(re.compile("search=gj"))
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Search everything")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    # Letters typed before the palette has the focus are lost, on a slow machine all of them.
    expect(page.get_by_label("Search everything")).to_be_focused()
    page.keyboard.type(digits)
    page.get_by_text("Dataset in default").wait_for()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name=digits)).to_be_visible()
    # Every noun is searched on the server, and what can be done is found by its words.
    for words, answer, heading in (("loc", "Compute · local", "local"), ("submit", "Submit a job", None)):
        page.keyboard.press("Control+k")
        expect(page.get_by_label("Search everything")).to_be_focused()
        page.keyboard.type(words)
        page.locator(".mantine-Spotlight-action").filter(has_text=answer).first.wait_for()
        page.keyboard.press("Enter")
        if heading:
            expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()
    expect(page.get_by_role("dialog", name="New job")).to_be_visible()


@pytest.mark.long
def test_many_tabs_share_one_stream_and_all_are_live(screen: Screen, digits: str) -> None:
    # Six streams would use up the connections a browser opens to one server, and the seventh tab would never load.
    context = screen.page.context
    tabs = [context.new_page() for _ in range(8)]
    for tab in tabs:
        begun = time.monotonic()
        tab.goto(screen.url + "/datasets")
        tab.get_by_test_id("dataset-card").first.wait_for()
        assert time.monotonic() - begun < 5
    screen.open("/datasets")
    screen.page.get_by_role("button", name="New Dataset").click()
    screen.page.get_by_role("textbox", name="Name").fill("seen-by-all")
    screen.page.get_by_role("button", name="Create").click()
    for tab in tabs:
        expect(tab.get_by_test_id("dataset-card").filter(has_text="seen-by-all")).to_be_visible()


@pytest.mark.long
def test_the_page_says_when_the_server_is_away_and_comes_back_with_it(
    browser: Browser, password_file: Path, tmp_path: Path, server: MillUp
) -> None:
    data_dir = tmp_path / "data"
    options = ("--admin-password-file", str(password_file), "--no-agent")
    context = browser.new_context()
    with mill_up(data_dir, *options) as first:
        screen = Screen(context.new_page(), first.url)
        screen.sign_in()
        expect(screen.page.get_by_label("Live:")).to_be_visible()
        assert first.stop() == 0
    expect(screen.page.get_by_text("Cannot reach the server")).to_be_visible(timeout=60_000)
    expect(screen.page.get_by_label("Offline:")).to_be_visible()
    with mill_up(data_dir, "--port", first.url.rpartition(":")[2], *options):
        expect(screen.page.get_by_text("Cannot reach the server")).to_have_count(0, timeout=60_000)
        expect(screen.page.get_by_label("Live:")).to_be_visible(timeout=60_000)
    context.close()
