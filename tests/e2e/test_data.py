"""Datasets and caches, as somebody uses them who never opens a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen
from tests.e2e.conftest import Mill


def test_the_hub_counts_and_finds_datasets(screen: Screen, digits: str) -> None:
    page = screen.page
    screen.open("/datasets")
    header = re.compile(
        r"^\d+ Datasets? · [\d.]+ [kM]?B · 1 NFS Connected · [\d.]+/[\d.]+ [GT]B used by cached commits$"
    )
    expect(page.get_by_test_id("totals")).to_have_text(header)
    card = page.get_by_test_id("dataset-card").filter(has_text=digits)
    expect(card).to_contain_text("2 commits")
    expect(card).to_contain_text("Active")
    page.keyboard.press("/")
    page.keyboard.type("no such thing")
    expect(page.get_by_text("No matching datasets.")).to_be_visible()
    expect(page).to_have_url(re.compile("search=no"))


@pytest.mark.long
def test_a_dataset_is_made_deleted_brought_back_and_purged(screen: Screen) -> None:
    page = screen.page
    screen.open("/datasets")
    page.get_by_role("button", name="New Dataset").first.click()
    page.get_by_role("textbox", name="Name").fill("Not A Name")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("alert")).to_contain_text("is not a valid name for a dataset")
    page.get_by_role("textbox", name="Name").fill("made-here")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="made-here")).to_be_visible()
    expect(page.get_by_text("No commits yet")).to_be_visible()
    for way_back in (True, False):
        page.get_by_role("tab", name="Settings").click()
        page.get_by_role("button", name="Delete made-here").click()
        page.get_by_role("button", name="Move to bin").click()
        expect(page).to_have_url(screen.url + "/datasets")
        if way_back:
            page.get_by_role("button", name="Undo").click()
            page.get_by_role("link", name="made-here").click()

    page.get_by_label("Bin").check(force=True)
    row = page.get_by_role("row", name="made-here")
    row.get_by_role("button", name="Delete permanently").click()
    confirm = page.get_by_role("button", name="Delete dataset permanently")
    expect(confirm).to_be_disabled()
    page.get_by_label("Type made-here to confirm").fill("made-here")
    confirm.click()
    expect(row).to_have_count(0)


@pytest.fixture
def beans(mill: Mill, tmp_path: Path) -> str:
    """A dataset that nobody else caches, with one commit."""
    (tmp_path / "one.txt").write_text("a bean\n")
    mill("data", "init", "beans", cwd=tmp_path)
    mill("data", "sync", "-m", "one bean", cwd=tmp_path)
    return "beans"


def test_one_click_caches_a_commit_and_the_page_follows(screen: Screen, beans: str) -> None:
    page = screen.page
    screen.open(f"/projects/default/datasets/{beans}")
    newest = page.get_by_test_id("commit").first
    newest.get_by_role("button", name="Cache").click()
    # No reload: what the agent reports arrives by the event stream.
    expect(newest.get_by_test_id("cached-badge")).to_contain_text("ready", timeout=60_000)
    expect(newest.get_by_role("button", name="Cache")).to_have_count(0)

    page.get_by_role("link", name="Caches").click()
    row = page.get_by_role("table", name="Cached commits").get_by_role("row", name=beans)
    row.get_by_role("button", name=re.compile("^Pin")).click()
    expect(row).to_contain_text("never (pinned)")
    row.get_by_role("button", name=re.compile("^Unpin")).click()
    expect(row).to_contain_text("in ")
    row.get_by_role("button", name=re.compile("^Clear")).click()
    expect(row.filter(has_text="ready")).to_have_count(0, timeout=60_000)
    page.get_by_role("tab", name="Volumes").click()
    expect(page.get_by_test_id("volume").filter(has_text="local")).to_contain_text(re.compile(r"\d+ Cached Commits?"))
    page.get_by_role("tab", name="Evictions").click()
    expect(page.get_by_role("table", name="Recent evictions")).to_contain_text(beans, timeout=60_000)


def test_files_are_browsed_and_shown_but_never_run(screen: Screen, digits: str) -> None:
    page = screen.page
    screen.open(f"/projects/default/datasets/{digits}?tab=files")
    page.get_by_role("link", name="train").click()
    page.get_by_role("link", name="one.png").click()
    expect(page.get_by_text("1 × 1 pixels")).to_be_visible()
    expect(page).to_have_url(re.compile("file=train%2Fone.png"))
    page.get_by_role("navigation", name="Directory").get_by_role("link", name=digits).click()
    page.get_by_role("link", name="README.md").click()
    expect(page.locator("pre.preview-text")).to_contain_text("<script>")
    expect(page).to_have_title(re.compile("Millpond"))
    page.get_by_role("link", name="page.html").click()
    expect(page.frame_locator("iframe").get_by_role("heading")).to_have_text("not a page")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    assert download.value.suggested_filename == "page.html"


def test_two_commits_are_compared(screen: Screen, digits: str) -> None:
    page = screen.page
    screen.open(f"/projects/default/datasets/{digits}")
    page.get_by_test_id("commit").first.get_by_role("link", name="changes").click()
    expect(page.get_by_test_id("diff-sums")).to_contain_text("1 added")
    page.get_by_role("link", name="labels.csv").click()
    expect(page.get_by_role("region", name="Preview of labels.csv")).to_contain_text("train/one.png")
