"""Files that are put into a dataset from the page: dropped or chosen, interrupted, gone on with, cancelled."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from millpond.testing.browser import Screen
from tests.e2e.conftest import Mill

DROP = """({files}) => {
  const data = new DataTransfer();
  for (const [name, content] of files) data.items.add(new File([content], name));
  for (const type of ["dragenter", "drop"]) {
    window.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: data}));
  }
}"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Many small files, one that is cut into chunks, an empty one, names that are not ASCII."""
    root = tmp_path / "pictures"
    for number in range(150):
        file = root / f"class{number % 3}" / f"{number:03}.bin"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(f"{number} ".encode() * 500)
    (root / "large.bin").write_bytes(bytes(range(256)) * 13_000)
    (root / "empty").touch()
    (root / "Übersicht \\ 1.txt").write_text("text")
    return root


def lose(route: Route) -> None:
    route.abort()


def open_empty(screen: Screen, mill: Mill, name: str) -> Page:
    mill("data", "create", name)
    screen.open(f"/projects/default/datasets/{name}")
    expect(screen.page.get_by_text("Nothing was committed yet")).to_be_visible()
    return screen.page


def choose(page: Page, folder: Path) -> None:
    page.get_by_test_id("choose-folder").set_input_files(folder)
    expect(page.get_by_test_id("upload-sum")).to_contain_text("153 files")
    page.get_by_role("button", name="Upload 153 files").click()


@pytest.mark.long
def test_an_upload_goes_on_after_a_reload_and_sends_nothing_twice(
    screen: Screen, mill: Mill, folder: Path, tmp_path: Path
) -> None:
    page = open_empty(screen, mill, "pictures")
    page.on("dialog", lambda dialog: dialog.accept())

    # All content arrives, but the commit never does: the network is lost at the worst moment.
    page.context.route("**/edits", lose)
    choose(page, folder)
    card = page.get_by_test_id("upload")
    expect(card).to_contain_text("The server does not answer", timeout=60_000)
    expect(card).to_contain_text("153 of 153 files")
    page.reload()
    expect(page.get_by_test_id("unfinished")).to_contain_text("An upload to main was interrupted")

    page.context.unroute("**/edits", lose)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose folder").click()
    chooser.value.set_files(folder)
    page.get_by_role("button", name="Upload 153 files").click()
    expect(card).to_contain_text("Committed: 153 files", timeout=60_000)
    expect(card).to_contain_text("0 B were sent: the rest was there already")
    expect(page.get_by_test_id("unfinished")).to_have_count(0)
    expect(page.get_by_test_id("commit")).to_contain_text("153 files")

    mill("data", "clone", "default/pictures", str(tmp_path / "back"))
    found = filecmp.dircmp(folder, tmp_path / "back", ignore=[".mill"])
    assert (found.left_only, found.right_only, found.diff_files) == ([], [], [])
    mill("data", "verify", "default/pictures", "--full")


@pytest.mark.long
def test_files_are_dropped_into_a_directory(screen: Screen, mill: Mill) -> None:
    page = open_empty(screen, mill, "dropped")
    page.evaluate(DROP, {"files": [["one.txt", "one"], ["two.txt", "two"]]})
    page.get_by_label("Folder in the dataset").fill("texts/")
    page.get_by_role("button", name="Upload 2 files").click()
    expect(page.get_by_test_id("upload")).to_contain_text("Committed: 2 files", timeout=60_000)
    page.get_by_role("tab", name="Files").click()
    page.get_by_role("link", name="texts").click()
    # A drop goes to the directory that is shown.
    page.evaluate(DROP, {"files": [["two.txt", "changed"]]})
    expect(page.get_by_label("Folder in the dataset")).to_have_value("texts")
    page.get_by_role("button", name="Upload 1 file").click()
    expect(page.get_by_test_id("upload").last).to_contain_text("Committed: 1 file", timeout=60_000)
    assert mill("data", "cat", "default/dropped:texts/two.txt") == "changed"
    assert mill("data", "cat", "default/dropped:texts/one.txt") == "one"


@pytest.mark.long
def test_an_upload_waits_for_the_network_and_can_be_cancelled(screen: Screen, mill: Mill, folder: Path) -> None:
    page = open_empty(screen, mill, "cancelled")
    page.on("dialog", lambda dialog: dialog.accept())
    page.context.route("**/uploads/**", lose)
    choose(page, folder)
    card = page.get_by_test_id("upload")
    expect(card).to_contain_text("The upload goes on by itself")
    page.context.unroute("**/uploads/**", lose)
    expect(card).to_contain_text("Committed: 153 files", timeout=30_000)
    card.get_by_role("button", name="Close").click()

    page.context.route("**/edits", lose)
    choose(page, folder)
    expect(card).to_contain_text("The upload goes on by itself")
    card.get_by_role("button", name="Cancel the upload").click()
    expect(card).to_have_count(0)
    page.context.unroute("**/edits", lose)
    page.reload()
    expect(page.get_by_test_id("commit")).to_have_count(1)
    expect(page.get_by_test_id("unfinished")).to_have_count(0)


@pytest.mark.long
def test_thousands_of_files(screen: Screen, mill: Mill, tmp_path: Path) -> None:
    root = tmp_path / "thousands"
    for number in range(5000):
        file = root / f"{number % 50}" / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n" * 100)
    page = open_empty(screen, mill, "thousands")
    page.get_by_test_id("choose-folder").set_input_files(root)
    page.get_by_role("button", name="Upload 5,000 files").click(timeout=60_000)
    expect(page.get_by_test_id("upload")).to_contain_text("Committed: 5,000 files", timeout=60_000)
    mill("data", "verify", "default/thousands", "--full")
