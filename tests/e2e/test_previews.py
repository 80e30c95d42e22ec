"""Looking into files on the page: tables, documents that may run only elsewhere, sound; directories as downloads."""

from __future__ import annotations

import json
import math
import re
import struct
import wave
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen
from tests.e2e.conftest import Mill

# What a script in a document finds out about where it runs.
REPORT = """<!doctype html><meta charset="utf-8"><title>Report</title><h1>Report</h1><p id="seen"></p><script>
const tried = [() => document.cookie, () => localStorage.length, () => parent.document.title, () => top.location.href];
const seen = tried.map((look) => { try { return String(look()) } catch (error) { return error.name } });
document.getElementById("seen").textContent = [self.origin, ...seen].join(" ");
</script>"""
DRAWING = (
    '<svg xmlns="http://www.w3.org/2000/svg"><text id="t" y="20">still</text>'
    '<script>document.getElementById("t").textContent = self.origin</script></svg>'
)


@pytest.fixture(scope="package")
def looked_at(mill: Mill, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("looked-at")
    (folder / "report.html").write_text(REPORT)
    (folder / "drawing.svg").write_text(DRAWING)
    (folder / "config.json").write_text(json.dumps({"lr": 0.1, "layers": [{"units": n} for n in range(3)]}))
    table = pa.table({"id": range(250), "label": [f"label {n}" for n in range(250)], "maybe": [None] * 250})
    pq.write_table(table, folder / "rows.parquet", compression="zstd", row_group_size=100)
    with wave.open(str(folder / "tone.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(n / 3))) for n in range(8000 * 60)))
    (folder / "train").mkdir()
    (folder / "train" / "über.txt").write_text("one")
    mill("data", "init", "looked-at", cwd=folder)
    mill("data", "sync", "-m", "first version", cwd=folder)
    return "/projects/default/datasets/looked-at?tab=files&file="


@pytest.mark.long
def test_documents_run_apart_and_directories_come_as_zip(screen: Screen, looked_at: str, tmp_path: Path) -> None:
    page = screen.page
    screen.open(f"{looked_at}report.html")
    document = page.frame_locator("iframe[title='report.html']")
    # An origin that is like no other, without cookies, storage or a way to the page.
    expect(document.locator("#seen")).to_have_text("null " + " ".join(["SecurityError"] * 4))
    expect(page).to_have_title(re.compile("Millpond"))
    frame = next(frame for frame in page.frames if frame != page.main_frame)
    assert not frame.url.startswith(screen.url)
    page.get_by_text("Source", exact=True).click()
    expect(page.locator("pre.preview-text")).to_contain_text("document.cookie")

    screen.open(f"{looked_at}rows.parquet")
    expect(page.get_by_role("status").filter(has_text="Rows 1 to 100 of 250, 3 columns")).to_be_visible()
    page.get_by_role("button", name="Next rows").click()
    expect(page.get_by_role("cell", name="label 199", exact=True)).to_be_attached()

    screen.open("/projects/default/datasets/looked-at?tab=files&path=train")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download zip").click()
    assert download.value.suggested_filename == "train.zip"
    download.value.save_as(tmp_path / "train.zip")
    with zipfile.ZipFile(tmp_path / "train.zip") as found:
        assert found.read("train/über.txt") == b"one"


@pytest.mark.long
def test_a_document_in_a_tab_of_its_own(screen: Screen, looked_at: str) -> None:
    page = screen.page
    screen.open(f"{looked_at}report.html")
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Open in a new tab").click()
    tab = opened.value
    expect(tab.locator("#seen")).to_contain_text("null SecurityError SecurityError")
    assert "/c/" in tab.url and tab.evaluate("opener") is None
    tab.reload()
    expect(tab.locator("h1")).to_have_text("Report")


@pytest.mark.long
def test_drawings_json_and_sound(screen: Screen, looked_at: str) -> None:
    page = screen.page
    screen.open(f"{looked_at}drawing.svg")
    expect(page.frame_locator("iframe").locator("#t")).to_have_text("null")
    screen.open(f"{looked_at}config.json")
    page.get_by_role("button", name="layers").click()
    page.get_by_role("button", name=re.compile("^2:")).click()
    expect(page.get_by_text("units: 2")).to_be_visible()
    screen.open(f"{looked_at}tone.wav")
    page.locator("audio").wait_for()
    at = page.evaluate(
        """async () => {
          const player = document.querySelector("audio");
          if (player.readyState < 1) await new Promise((done) => { player.onloadedmetadata = done; });
          player.currentTime = 50;
          await new Promise((done) => { player.onseeked = done; });
          return [player.duration, player.currentTime];
        }"""
    )
    assert at == [60, 50]


@pytest.mark.long
def test_the_palette_keeps_what_is_typed_at_once(screen: Screen, looked_at: str) -> None:
    page = screen.page
    screen.open("/")
    page.get_by_role("heading", name="Home").wait_for()
    # All keys before the page could do anything: as on a machine that is too slow for its user.
    page.evaluate(
        """() => {
          const press = (key, options = {}) => document.body.dispatchEvent(
            new KeyboardEvent("keydown", { key, code: `Key${key.toUpperCase()}`, bubbles: true, ...options }));
          press("k", { ctrlKey: true });
          for (const key of "looked") press(key);
        }"""
    )
    field = page.get_by_role("textbox", name="Search everything")
    expect(field).to_have_value("looked")
    expect(field).to_be_focused()
    page.keyboard.type("-at")
    expect(field).to_have_value("looked-at")
    expect(page.get_by_role("button", name="looked-at")).to_be_visible()
