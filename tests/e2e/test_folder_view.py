"""A dataset's folder on the page: its README rendered, folders first, images as thumbnails, keys in the preview."""

from __future__ import annotations

import re
import struct
import zlib

import pytest
from playwright.sync_api import expect

from millpond.testing.browser import Screen
from tests.e2e.conftest import Mill

README = """---
license: mit
---
# Shapes

Four **squares**, labelled in [labels.csv](labels.csv).

![a red square](album/red.png) ![a picture elsewhere](https://elsewhere.example/x.png)

| colour | file |
| ------ | ---- |
| red    | `album/red.png` |

<script>document.title = "taken over"</script>
<img src="x" onerror="document.title = 'taken over'">
[run](javascript:document.title='taken-over')
"""
COLOURS = {"red": (201, 42, 42), "green": (47, 158, 68), "blue": (25, 113, 194), "violet": (95, 61, 196)}


def square(colour: tuple[int, int, int], side: int = 64) -> bytes:
    """A PNG of one colour."""
    rows = (b"\0" + bytes(colour) * side) * side
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    chunks = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.fixture(scope="package")
def shapes(mill: Mill, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("shapes")
    (folder / "album").mkdir()
    for name, colour in COLOURS.items():
        (folder / "album" / f"{name}.png").write_bytes(square(colour))
    (folder / "README.md").write_text(README)
    (folder / "a.txt").write_text("before the folders by name")
    (folder / "labels.csv").write_text("file,label\n")
    mill("data", "init", "shapes", cwd=folder)
    mill("data", "sync", "-m", "first version", cwd=folder)
    return "/projects/default/datasets/shapes?tab=files"


def test_a_folder_shows_its_readme_and_thumbnails(screen: Screen, shapes: str) -> None:
    page = screen.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    screen.open(shapes)
    names = page.get_by_role("table", name="Files in shapes").get_by_role("link")
    expect(names).to_have_text(["album", "README.md", "a.txt", "labels.csv"])
    readme = page.get_by_role("region", name="README.md")
    expect(readme.get_by_role("heading", name="Shapes")).to_be_visible()
    expect(readme.locator("img")).to_have_count(1)
    expect(readme.get_by_role("link", name="run")).to_have_count(0)
    assert not any("elsewhere.example" in url for url in asked)
    expect(page).to_have_title(re.compile("Millpond"))

    names.first.click()
    thumbnails = page.get_by_role("list", name="Images in album").get_by_role("link")
    expect(thumbnails).to_have_text(["blue.png", "green.png", "red.png", "violet.png"])
    thumbnails.first.click()
    expect(page.get_by_role("region", name="Preview of blue.png").get_by_text("64 × 64 pixels")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("region", name="Preview of green.png")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("region", name="Preview of blue.png")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Preview of blue.png")).to_have_count(0)
    page.get_by_role("button", name="Show images in the list").click()
    expect(page.get_by_role("table", name="Files in album").get_by_role("link")).to_have_count(len(COLOURS))
