"""Volumes, cached commits and the places they are near, as their page shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from millpond.testing.browser import Screen
from tests.e2e.conftest import Mill


def more(page: Page, dataset: str, item: str) -> None:
    """Choose an item of a cached commit's menu."""
    row = page.get_by_role("table", name="Cached commits").get_by_role("row").filter(has_text=dataset).first
    row.get_by_role("button", name=re.compile("^More for")).click()
    page.get_by_role("menuitem", name=item).click()


@pytest.mark.long
def test_a_cached_commit_is_held_verified_and_explained(screen: Screen, digits: str, mill: Mill) -> None:
    page = screen.page
    mill("cache", "add", digits)
    screen.open("/caches")
    expect(page.get_by_test_id("cache-summary")).to_contain_text("Hit rate")
    table = page.get_by_role("table", name="Cached commits")
    more(page, digits, "Hold for")
    page.get_by_role("menuitem", name="8 hours").click()
    expect(table).to_contain_text("held by admin")
    more(page, digits, "Release my hold")
    expect(table).not_to_contain_text("held by admin")
    more(page, digits, "Verify and heal")
    expect(table).to_contain_text("as they should be", timeout=60_000)
    more(page, digits, "Why is it here?")
    drawer = page.get_by_role("dialog")
    expect(drawer).to_contain_text("requested by admin")
    expect(drawer).to_contain_text(re.compile(r"mill cache clear default/digits@\w{12} --on local"))
    page.keyboard.press("Escape")

    page.get_by_role("tab", name="Volumes").click()
    page.get_by_test_id("volume").get_by_role("link", name="local").click()
    expect(page.get_by_role("heading", level=1, name="local")).to_be_visible()
    expect(page.get_by_test_id("capacity")).to_contain_text("free")
    page.get_by_text("Week", exact=True).click()
    expect(page).to_have_url(re.compile("range=week"))
    page.get_by_role("tab", name="Evictions").click()
    expect(page.get_by_test_id("plan")).to_contain_text(f"default/{digits}")
    page.get_by_role("tab", name="Cached commits").click()

    table.get_by_role("button", name=re.compile("^Clear")).click()
    expect(page.get_by_text("the lake keeps it")).to_be_visible()
    expect(page.get_by_text("No matching cached commits.")).to_be_visible(timeout=60_000)


@pytest.mark.long
def test_a_branch_is_kept_cached(screen: Screen, digits: str, mill: Mill) -> None:
    page = screen.page
    screen.open(f"/projects/default/datasets/{digits}")
    page.get_by_role("button", name="Keep cached").click()
    page.get_by_role("menuitemcheckbox", name="local").click()
    newest = page.get_by_test_id("commit").first
    expect(newest.get_by_test_id("cached-badge")).to_contain_text("ready", timeout=60_000)
    screen.open("/caches?tab=branches")
    row = page.get_by_role("table", name="Kept branches").get_by_role("row").filter(has_text=digits)
    expect(row).to_contain_text("ready")
    row.get_by_role("button", name=re.compile("no longer")).click()
    expect(page.get_by_text("No branch is kept here.")).to_be_visible()
    # Others want to see it come.
    mill("cache", "clear", digits, "--yes")
    page.get_by_role("tab", name="Cached commits").click()
    expect(page.get_by_text("No cached commits yet")).to_be_visible(timeout=60_000)


@pytest.mark.long
def test_a_project_is_limited_on_a_volume(screen: Screen) -> None:
    page = screen.page
    screen.open("/caches/local?tab=limits")
    page.get_by_role("combobox", name="Project").click()
    page.get_by_role("option", name="default").click()
    page.get_by_label("At most (GB)").fill("2")
    page.get_by_role("button", name="Set limit").click()
    limits = page.get_by_role("table", name="Limits of projects")
    expect(limits).to_contain_text("2.0 GB")
    limits.get_by_role("button", name="Remove the limit of default").click()
    expect(limits).to_have_count(0)


@pytest.mark.long
def test_sites_and_links_are_drawn_and_said(screen: Screen) -> None:
    page = screen.page
    screen.open("/topology")
    page.get_by_role("button", name="New site").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name").fill("cloud-eu")
    form.get_by_role("button", name="Add").click()
    expect(page.get_by_role("img", name=re.compile("2 sites"))).to_be_visible()
    page.get_by_role("button", name="Set link").click()
    form.get_by_role("combobox", name="From").click()
    page.get_by_role("option", name="cloud-eu").click()
    form.get_by_role("combobox", name="To").click()
    page.get_by_role("option", name="local").click()
    form.get_by_label("Bandwidth (Gbit/s)").fill("2.5")
    form.get_by_role("button", name="Set").click()
    expect(page.get_by_role("table", name="Links")).to_contain_text("2.5 Gbit/s")
    page.get_by_role("button", name="Remove cloud-eu").click()
    form.get_by_label("Type cloud-eu to confirm").fill("cloud-eu")
    form.get_by_role("button", name="Remove").click()
    expect(page.get_by_role("region", name="Site cloud-eu")).to_have_count(0)


@pytest.mark.long
def test_a_broken_volume_says_what_is_wrong_and_recovers(screen: Screen, mill: Mill, tmp_path: Path) -> None:
    page = screen.page
    folder = tmp_path / "nfs0"
    folder.mkdir()
    mill("volume", "add", "shaky", str(folder))
    screen.open("/caches/shaky")
    expect(page.get_by_test_id("volume")).to_contain_text("hard links")
    folder.rename(tmp_path / "gone")
    expect(page.get_by_test_id("volume").get_by_role("alert")).to_be_visible(timeout=60_000)
    (tmp_path / "gone").rename(folder)
    expect(page.get_by_test_id("volume").get_by_role("alert")).to_have_count(0, timeout=60_000)
    mill("volume", "rm", "shaky", "--yes")
