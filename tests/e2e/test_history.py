"""Branches, tags, comparisons, merges and reverts, by somebody who never opens a terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from millpond.testing.browser import Screen
from tests.e2e.conftest import Mill


@pytest.fixture
def letters(mill: Mill, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A dataset with one commit, named like the test."""
    name = request.node.originalname.replace("_", "-")[5:40]
    root = tmp_path / name
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "b.txt").write_text("b\n")
    mill("data", "init", name, cwd=root)
    mill("data", "sync", "-m", "first version", cwd=root)
    return name


def choose_action(page: Page, ref: str, action: str) -> None:
    page.get_by_role("button", name=f"What to do with {ref}").click()
    page.get_by_role("menuitem", name=action).click()


@pytest.mark.long
def test_a_branch_is_made_changed_compared_merged_and_undone(
    screen: Screen, mill: Mill, letters: str, tmp_path: Path
) -> None:
    page = screen.page
    screen.open(f"/projects/default/datasets/{letters}?tab=files")
    choose_action(page, "main", "New branch from here")
    page.get_by_role("textbox", name="Name").fill("try/it")
    page.get_by_role("button", name="Create").click()
    expect(page).to_have_url(re.compile("ref=try%2Fit"))

    page.get_by_role("button", name="Remove b.txt").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("link", name="b.txt")).to_have_count(0)
    changed = tmp_path / "a.txt"
    changed.write_text("one\n2\nthree\n")
    mill("data", "put", str(changed), f"default/{letters}@try/it:a.txt")

    choose_action(page, "try/it", "Compare with main")
    expect(page.get_by_test_id("diff-sums")).to_contain_text("0 added · 1 removed · 1 changed · 0 renamed")
    page.get_by_role("button", name="What changed in a.txt").click()
    expect(page.get_by_test_id("text-diff")).to_contain_text("-two+2")

    page.get_by_role("button", name="Merge try/it into main").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(page.get_by_role("region", name="Commit")).to_contain_text("Put a.txt")
    expect(page.get_by_test_id("verified")).to_contain_text("read back and checked")
    page.get_by_role("button", name="Revert").click()
    page.get_by_role("dialog").get_by_role("button", name="Revert").click()
    expect(page.get_by_role("heading", name=re.compile("^Revert [0-9a-f]{12}"))).to_be_visible()
    assert mill("data", "cat", f"default/{letters}:a.txt") == "one\ntwo\nthree\n"


@pytest.mark.long
def test_a_conflict_names_the_paths_and_changes_nothing(
    screen: Screen, mill: Mill, letters: str, tmp_path: Path
) -> None:
    page = screen.page
    mill("data", "branch", f"default/{letters}@other")
    for branch in ("main", "other"):
        (tmp_path / "a.txt").write_text(branch)
        mill("data", "put", str(tmp_path / "a.txt"), f"default/{letters}@{branch}:a.txt")
    screen.open(f"/projects/default/datasets/{letters}?tab=diff&before=main&after=other")
    page.get_by_role("button", name="Merge other into main").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(page.get_by_test_id("conflicts")).to_contain_text("a.txt")
    assert mill("data", "cat", f"default/{letters}:a.txt") == "main"


@pytest.mark.long
def test_refs_are_listed_tagged_and_removed_with_a_way_back(screen: Screen, letters: str) -> None:
    page = screen.page
    screen.open(f"/projects/default/datasets/{letters}")
    page.get_by_test_id("commit").get_by_role("link", name=re.compile("^Commit")).click()
    page.get_by_role("button", name=re.compile("^What to do with")).click()
    page.get_by_role("menuitem", name="Tag this commit").click()
    page.get_by_role("textbox", name="Name").fill("v1")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("The tag v1 is at")).to_be_visible()
    page.get_by_role("tab", name="Branches and tags").click()
    page.get_by_role("button", name="Remove the tag v1").click()
    expect(page.get_by_role("link", name="v1", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="v1", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Remove the branch main")).to_have_count(0)


@pytest.mark.long
def test_a_dataset_is_renamed_and_given_a_rule(screen: Screen, mill: Mill, letters: str) -> None:
    page = screen.page
    screen.open(f"/projects/default/datasets/{letters}?tab=settings")
    page.get_by_role("textbox", name="Name").fill("renamed-here")
    page.get_by_role("textbox", name="Description").fill("Letters, mostly.")
    page.get_by_role("button", name="Save").first.click()
    expect(page.get_by_role("heading", name="renamed-here")).to_be_visible()
    expect(page.get_by_text("Letters, mostly.").first).to_be_visible()
    page.get_by_label("Newest commits of each branch").fill("5")
    page.get_by_role("button", name="Save").last.click()
    expect(page.get_by_text("Keeps the newest 5 commits of each branch.")).to_be_visible()
    expect(page.get_by_text("Saved.").last).to_be_visible()
    assert "newest 5 commits" in mill("data", "retention", "default/renamed-here")
